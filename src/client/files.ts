/** The files of a sandbox of a server. */
import { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import type { FileMember } from '../operations/files.ts';
import type { SandboxHandle } from '../operations/sandboxService.ts';
import type { Archive, Guest } from '../runtimes/runtime.ts';
import type { TransferOptions, Transfers } from '../sandbox/transfer.ts';
import { unreachable } from './errors.ts';
import type { Place } from './place.ts';
import { filesAnswer, unpackedAnswer, writtenAnswer } from './wire.ts';

type Files = Pick<SandboxHandle, FileMember>;

const BYTES = 'application/octet-stream';
const TAR = 'application/x-tar';

/** For an archive to be sent and unpacked. */
const UPLOAD_SEC = 3600;

/** `maxBytes` is what a transfer may have where it does not say otherwise. */
export function remoteFiles(place: Place, maxBytes: () => Promise<number>): Files {
  const readBytes: Files['readBytes'] = (path) => place.bytes({ path: 'files/content', query: { path } });
  let made: Promise<Transfers> | undefined;
  const transfers = (): Promise<Transfers> => {
    made ??= makeTransfers(place, maxBytes);
    return made;
  };
  return {
    async writeFile(path, content) {
      const body = { type: BYTES, content: typeof content === 'string' ? Buffer.from(content) : content };
      return place.json({ method: 'PUT', path: 'files/content', query: { path }, body }, writtenAnswer);
    },
    async readFile(path) {
      const bytes = Buffer.from(await readBytes(path));
      const text = bytes.toString('utf8');
      const encoding = Buffer.from(text).equals(bytes) ? 'utf8' : 'base64';
      return { content: encoding === 'utf8' ? text : bytes.toString('base64'), encoding, size: bytes.length };
    },
    readBytes,
    listFiles: (path) => place.json({ path: 'files', query: { path } }, filesAnswer),
    removeFile: (path, { recursive = false } = {}) =>
      place.tell({ method: 'DELETE', path: 'files', query: { path, recursive } }),
    async download(path, options = {}) {
      assertBoundedThere(options);
      return Readable.from(await pack(place, path ?? '.', options.signal), {
        objectMode: false,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    },
    async downloadTo(path, hostFolder, options) {
      return (await transfers()).downloadTo(path, hostFolder, options);
    },
    async upload(path, archive, options = {}) {
      assertBoundedThere(options);
      return (await transfers()).upload(path, archive, options);
    },
    async uploadFrom(hostPath, path = '.', options = {}) {
      return (await transfers()).uploadFrom(hostPath, path, options);
    },
  };
}

/** Loaded when folders are carried at all. */
async function makeTransfers(place: Place, maxBytes: () => Promise<number>): Promise<Transfers> {
  const { Transfers } = await import('../sandbox/transfer.ts');
  const guest: Pick<Guest, 'pack' | 'unpack'> = {
    pack: (path) => pack(place, path),
    unpack: (path, content, { links, signal }) =>
      place.json(
        {
          ...{ method: 'PUT', path: 'archive', query: { path, links } },
          body: { type: TAR, content: asStream(content) },
          ...{ signal, timeoutSec: UPLOAD_SEC },
        },
        unpackedAnswer,
      ),
  };
  return new Transfers(guest, await maxBytes());
}

/** The archive as it comes; what the server left out of it is not said. */
async function pack(place: Place, path: string, signal?: AbortSignal): Promise<Archive> {
  const control = new AbortController();
  const { closed, host } = place.transport;
  const destroy = (): void => control.abort();
  const question = { path: 'archive', query: { path }, headers: { accept: TAR }, signal };
  const { body } = await place.open(question, control);
  return {
    leftOut: [],
    destroy,
    async *[Symbol.asyncIterator]() {
      closed.addEventListener('abort', destroy, { once: true });
      try {
        for await (const chunk of body ?? []) yield chunk as Uint8Array;
      } catch (error) {
        // The tar format has no way to say what went wrong: an archive that fails there breaks off here.
        throw error instanceof TypeError ? unreachable(host, 'the archive broke off') : error;
      } finally {
        closed.removeEventListener('abort', destroy);
        control.abort();
      }
    },
  };
}

async function* asStream(
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* content;
}

/** Of an archive that only passes through, nobody here knows what is in it. */
function assertBoundedThere({ maxBytes, maxEntries }: TransferOptions): void {
  if (maxBytes === undefined && maxEntries === undefined) return;
  throw new SandboxError('INPUT_INVALID', 'How much an archive may hold is for the server to say.', {
    hint: 'Leave maxBytes and maxEntries out, or carry folders of this host: uploadFrom, downloadTo.',
  });
}
