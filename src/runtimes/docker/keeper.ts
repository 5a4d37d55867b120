/**
 * What keeps the files of a live sandbox between its programs, and the network that they share: a container of its
 * own in which no program ever runs. It holds the volumes in place, and file operations are small programs in it, of the sandbox's own
 * user: a link that a program left leads no further than the program itself could have gone.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { SandboxError } from '../../errors.ts';
import {
  changesAllTheTime,
  closedToUs,
  missing,
  needsRecursive,
  notRegular,
  tooFull,
  tooLarge,
} from '../host/fileRefusals.ts';
import type { GuestFiles } from '../host/hostGuest.ts';
import type { PackedFiles } from '../host/packedFiles.ts';
import { outside, workspaceComponents } from '../host/workspacePath.ts';
import type {
  FileEntry,
  Relay,
  RelayWish,
  RemoveOptions,
  TransferLimits,
  Unpacked,
  UnpackOptions,
} from '../runtime.ts';
import {
  attach,
  type ContainerState,
  createContainer,
  inspectContainer,
  removeContainer,
  startContainer,
} from './containers.ts';
import type { Engine } from './engine.ts';
import { execIn, LongExec } from './exec.ts';
import { type FileOperation, fileCommand, REFUSAL } from './fileScript.ts';
import { parseListing } from './listing.ts';
import { type PlacedRelay, placeRelay } from './placeRelay.ts';
import { containerFailed } from './program.ts';

/** It ends when we do: its standard input is ours to hold open. */
export const KEEPER_SCRIPT = 'cat >/dev/null';

/** How long one file operation may take; a FIFO that a program puts in the way must not hold anybody up. */
const FILE_DEADLINE_MS = 60_000;

/** More than ten thousand names of the greatest length take, with what is said about each. */
const MAX_LISTING_BYTES = 16 * 1024 ** 2;

export class Keeper implements GuestFiles {
  /** Settles when it has ended, or was taken away, and not by us. */
  readonly lost: Promise<string>;
  readonly #engine: Engine;
  readonly #id: string;
  readonly #connection: Socket;
  #relay: PlacedRelay | undefined;
  #removed = false;

  private constructor(engine: Engine, id: string, connection: Socket) {
    this.#engine = engine;
    this.#id = id;
    this.#connection = connection;
    connection.on('error', () => {});
    this.lost = new Promise((resolve) => {
      // The engine ends the connection with the container.
      const lose = (): void => {
        if (!this.#removed) resolve('the container that kept its files has ended or was removed.');
      };
      connection.once('end', lose);
      connection.once('close', lose);
    });
    // Nothing is expected from it, and it is no reason for this process to go on.
    connection.resume();
    connection.unref();
  }

  /** Throws `SANDBOX_FAILED` with the engine's reason; nothing is left then. */
  static async start(engine: Engine, name: string, body: object): Promise<Keeper> {
    let id: string | undefined;
    try {
      id = await createContainer(engine, name, body);
      const { socket } = await attach(engine, id);
      await startContainer(engine, id);
      return new Keeper(engine, id, socket);
    } catch (error) {
      await removeContainer(engine, id ?? name).catch(() => {});
      throw containerFailed(error);
    }
  }

  inspect(): Promise<ContainerState> {
    return inspectContainer(this.#engine, this.#id);
  }

  /** Whom programs join that share its network. */
  get id(): string {
    return this.#id;
  }

  /** Puts a relay into that network. Throws `SANDBOX_FAILED` when it does not come up. */
  async placeRelay(program: Uint8Array, wish: RelayWish): Promise<void> {
    this.#relay = await placeRelay(this.#engine, this.#id, program, wish);
  }

  /** The relay that was put there. */
  get relay(): Relay | undefined {
    return this.#relay?.relay;
  }

  async read(path: string, maxBytes: number): Promise<Uint8Array> {
    // One byte more than allowed tells a file that grew meanwhile from one that fits.
    const { stdout } = await this.#run('read', path, maxBytes, { maxBytes: maxBytes + 1 });
    if (stdout.byteLength > maxBytes) throw tooLarge(path, stdout.byteLength, maxBytes);
    return stdout;
  }

  async write(path: string, data: Uint8Array): Promise<void> {
    await this.#run('write', path, data.byteLength, { stdin: data });
  }

  async list(path: string, maxEntries: number): Promise<FileEntry[]> {
    const { stdout } = await this.#run('list', path, 0, { maxBytes: MAX_LISTING_BYTES });
    const folder = ['/workspace', ...workspaceComponents(path)].join('/');
    return parseListing(stdout, folder).slice(0, maxEntries);
  }

  async remove(path: string, { recursive = false }: RemoveOptions): Promise<void> {
    await this.#run('remove', path, recursive ? 1 : 0);
  }

  async pack(path: string, limits: TransferLimits, signal: AbortSignal): Promise<PackedFiles> {
    const { packOf } = await import('./transfer.ts');
    const command = fileCommand('pack', 0, newToken(), workspaceComponents(path));
    return packOf(await this.#start(command, false), limits, signal, (code, said) =>
      refusalFor(code, path, said, 0),
    );
  }

  async unpack(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UnpackOptions,
    signal: AbortSignal,
  ): Promise<Unpacked> {
    const { unpackIn } = await import('./transfer.ts');
    const command = fileCommand('unpack', 0, newToken(), workspaceComponents(path));
    return unpackIn(await this.#start(command, true), archive, options, signal, (code, said) =>
      refusalFor(code, path, said, 0),
    );
  }

  /** Takes the container away. */
  async end(): Promise<void> {
    this.#removed = true;
    try {
      await removeContainer(this.#engine, this.#id);
    } finally {
      this.#connection.destroy();
      this.#relay?.release();
    }
  }

  #start(command: [string, ...string[]], input: boolean): Promise<LongExec> {
    const request = { command, input, patienceMs: FILE_DEADLINE_MS };
    return LongExec.start(this.#engine, this.#id, request).catch((error: unknown) => {
      throw containerFailed(error);
    });
  }

  async #run(
    operation: FileOperation,
    path: string,
    size: number,
    { stdin, maxBytes = 0 }: { readonly stdin?: Uint8Array; readonly maxBytes?: number } = {},
  ): Promise<{ stdout: Uint8Array }> {
    const components = workspaceComponents(path);
    if (operation !== 'list' && components.length === 0) throw notRegular(path, 'a folder');
    const ran = await execIn(this.#engine, this.#id, {
      command: fileCommand(operation, size, newToken(), components),
      ...(stdin === undefined ? {} : { stdin }),
      maxBytes,
      deadlineMs: FILE_DEADLINE_MS,
    }).catch((error: unknown) => {
      throw containerFailed(error);
    });
    if (ran.code === 0) return ran;
    throw refusalFor(ran.code, path, ran.stderr, size);
  }
}

function newToken(): string {
  return randomBytes(9).toString('hex');
}

function refusalFor(code: number, path: string, said: string, maxBytes: number): SandboxError {
  switch (code) {
    case REFUSAL.missing:
      return missing(path);
    case REFUSAL.link:
      return outside(path);
    case REFUSAL.folder:
      return notRegular(path, 'a folder');
    case REFUSAL.special:
      return notRegular(path, 'a special file');
    case REFUSAL.belowFile:
      return notRegular(path, 'below a file');
    case REFUSAL.large:
      return tooLarge(path, Number(said), maxBytes);
    case REFUSAL.closed:
      return closedToUs(path);
    case REFUSAL.full:
      return tooFull(path);
    case REFUSAL.notEmpty:
      return needsRecursive(path);
    case REFUSAL.changes:
      return changesAllTheTime(path);
    case REFUSAL.noTar:
      return new SandboxError(
        'LANGUAGE_UNAVAILABLE',
        'The image has no "tar", which carries whole folders.',
        {
          hint: 'Use an image with GNU or busybox tar, such as the one that `glovebox images build` makes.',
          details: { missing: 'tar' },
        },
      );
    case REFUSAL.tornArchive:
      return new SandboxError('SANDBOX_FAILED', 'The archive did not arrive whole in the sandbox.', {
        hint: 'The engine may have ended it; try again.',
        details: { path },
      });
    case REFUSAL.longName:
      return new SandboxError('INPUT_INVALID', 'A component of the path is too long.', {
        hint: 'Use names of at most 255 bytes.',
      });
    default:
      return new SandboxError(
        'SANDBOX_FAILED',
        `The sandbox's files cannot be reached: ${said || `code ${code}`}`,
        {
          hint: 'The engine may have ended it; make a new sandbox.',
          details: { path, code },
        },
      );
  }
}
