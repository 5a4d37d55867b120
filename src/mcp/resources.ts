import {
  type ListResourcesResult,
  type McpServer,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { isSandboxError, SandboxError } from '../errors.ts';
import type { Toolbox } from '../operations/tools/toolbox.ts';
import { fileUri, outputUri, type StreamName } from './resourceUris.ts';
import type { InTurn } from './turns.ts';

type Sandboxes = Pick<Toolbox, 'sandboxes' | 'sandbox'>;

/** No more files are listed, of all sandboxes together. */
const MAX_LISTED = 500;

/** What a client is given of one file: more would not fit into a conversation. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

const PAGE_BYTES = 64 * 1024;

/** The files and the whole outputs of the sandboxes of this session, and of no other; each file is read in its turn. */
export function registerResources(server: McpServer, sandboxes: Sandboxes, inTurn: InTurn): void {
  server.registerResource(
    'file',
    new ResourceTemplate('glovebox://sandboxes/{id}/files/{+path}', {
      list: () => inTurn(() => listFiles(sandboxes)),
    }),
    { title: 'A file of a sandbox', description: 'A file below /workspace of a sandbox of this session.' },
    (uri, { id, path }) =>
      read(uri, () => inTurn(() => readFile(sandboxes, uri, text(id), decoded(text(path))))),
  );
  const output = {
    title: 'The whole output of an execution',
    description: `One stream (stdout or stderr), ${PAGE_BYTES} bytes a page, from ?offset= in bytes.`,
    mimeType: 'text/plain',
  };
  // The first that fits is taken, so the narrower one comes first.
  for (const [name, query] of [
    ['output page', '{?offset}'],
    ['output', ''],
  ] as const) {
    server.registerResource(
      name,
      new ResourceTemplate(`glovebox://sandboxes/{id}/executions/{execution}/{stream}${query}`, {
        list: undefined,
      }),
      output,
      (uri, { id, execution, stream }) =>
        read(uri, () => readOutput(sandboxes, uri, text(id), text(execution), text(stream))),
    );
  }
}

async function listFiles(sandboxes: Sandboxes): Promise<ListResourcesResult> {
  const resources: ListResourcesResult['resources'] = [];
  for (const { id } of sandboxes.sandboxes()) {
    const { files } = await sandboxes
      .sandbox(id)
      .listFiles()
      // It has ended meanwhile, or nobody allows it: the others are listed all the same.
      .catch(() => ({ files: [] }));
    for (const { path, name, type, size } of files) {
      if (resources.length >= MAX_LISTED) return { resources };
      if (type === 'file') resources.push({ uri: fileUri(id, path), name, size });
    }
  }
  return { resources };
}

async function readFile(
  sandboxes: Sandboxes,
  uri: URL,
  id: string,
  path: string,
): Promise<ReadResourceResult> {
  const { content, encoding, size } = await sandboxes.sandbox(id).readFile(path);
  if (size > MAX_FILE_BYTES) {
    throw new SandboxError('INPUT_INVALID', `The file has ${size} bytes; ${MAX_FILE_BYTES} is the most.`, {
      hint: 'Read the part that matters with code_execute.',
    });
  }
  const { href } = uri;
  return { contents: [encoding === 'utf8' ? { uri: href, text: content } : { uri: href, blob: content }] };
}

async function readOutput(
  sandboxes: Sandboxes,
  uri: URL,
  id: string,
  execution: string,
  stream: string,
): Promise<ReadResourceResult> {
  const page = sandboxes.sandbox(id).output(execution, {
    stream: stream as StreamName,
    offset: Number(uri.searchParams.get('offset') ?? 0),
    limit: PAGE_BYTES,
  });
  const { totalBytes, droppedBytes, offset, nextOffset, ended } = page;
  const isLast = ended && nextOffset >= totalBytes;
  const next = isLast ? {} : { next: outputUri(id, execution, page.stream, nextOffset) };
  const _meta = { total_bytes: totalBytes, dropped_bytes: droppedBytes, offset, ended, ...next };
  return { contents: [{ uri: uri.href, mimeType: 'text/plain', text: page.text, _meta }] };
}

/** What is not there is told as the protocol does, and what was refused with its hint. */
async function read(uri: URL, work: () => Promise<ReadResourceResult>): Promise<ReadResourceResult> {
  try {
    return await work();
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    if (error.code === 'SANDBOX_NOT_FOUND' || error.code === 'FILE_NOT_FOUND')
      throw new ResourceNotFoundError(uri.href);
    throw new Error(`${error.message} ${error.hint}`);
  }
}

function text(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new SandboxError('INPUT_INVALID', 'The path in the address is not encoded as addresses are.', {
      hint: 'Encode each part of the path as a URI component.',
    });
  }
}
