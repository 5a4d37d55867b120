/** Files of a live sandbox. */
import { Readable } from 'node:stream';
import { z } from '@hono/zod-openapi';
import type { FileEntry } from '../../runtimes/runtime.ts';
import type { Parts } from '../parts.ts';
import { addRoute, bytesOf, counted, json, noContent, type ServerApp } from '../route.ts';
import { sandboxParams } from '../schemas/inputs.ts';
import { files } from '../schemas/results.ts';

const tag = 'Files';
const scope = 'execute';
const BYTES = 'application/octet-stream';
const TAR = 'application/x-tar';

const path = z.string().min(1).openapi({ description: 'Relative to the workspace, or absolute below it.' });

const written = z.strictObject({ path: z.string(), size: z.number().int() });

const unpacked = z.strictObject({
  files: z.number().int(),
  folders: z.number().int(),
  bytes: z.number().int(),
});

export function addFileRoutes(app: ServerApp, parts: Parts): void {
  const { sandboxes, limits, usage } = parts;

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes/{id}/files', tag, scope },
      summary: 'List a folder',
      ...{ params: sandboxParams, query: z.strictObject({ path: path.optional() }) },
      responses: { 200: { description: 'At most 10,000 entries.', schema: files } },
    },
    async ({ params, query, caller }) => {
      const listed = await sandboxes.get(caller.id, params.id).listFiles(query.path);
      return json({
        files: listed.files.map(entryToJson),
        ...(listed.truncated ? { truncated: true } : {}),
      });
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'delete', path: '/v1/sandboxes/{id}/files', tag, scope },
      summary: 'Remove a file, or with recursive=true a folder',
      params: sandboxParams,
      query: z.strictObject({ path, recursive: z.enum(['true', 'false']).optional() }),
      responses: { 204: { description: 'It is gone.' } },
    },
    async ({ params, query, caller }) => {
      const recursive = query.recursive === 'true';
      await sandboxes.get(caller.id, params.id).removeFile(query.path, { recursive });
      return noContent();
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes/{id}/files/content', tag, scope },
      summary: 'The content of a file as it is',
      ...{ params: sandboxParams, query: z.strictObject({ path }) },
      responses: { 200: { description: 'Its bytes.', media: BYTES } },
    },
    async ({ params, query, caller }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitTransfer(caller);
      const bytes = await live.readBytes(query.path);
      await usage.spend(caller, { bytes: bytes.length });
      return raw(new Uint8Array(bytes), BYTES);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'put', path: '/v1/sandboxes/{id}/files/content', tag, scope },
      summary: 'Write a file; missing folders are made',
      ...{ params: sandboxParams, query: z.strictObject({ path }), bytes: BYTES },
      responses: { 200: { description: 'It is there.', schema: written } },
    },
    async ({ params, query, caller, context }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitTransfer(caller);
      const bytes = await bytesOf(context.req.raw, limits.fileBytes);
      await usage.spend(caller, { bytes: bytes.length });
      return json(await live.writeFile(query.path, bytes));
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'get', path: '/v1/sandboxes/{id}/archive', tag, scope },
      summary: 'A folder or a file as a tar archive',
      ...{ params: sandboxParams, query: z.strictObject({ path: path.optional() }) },
      responses: { 200: { description: 'Made while it is read.', media: TAR } },
    },
    async ({ params, query, caller, signal }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitTransfer(caller);
      const archive = await live.download(query.path ?? '.', { signal });
      const spend = (bytes: number): Promise<void> => usage.spend(caller, { bytes });
      return raw(Readable.toWeb(Readable.from(told(archive, spend))) as ReadableStream<Uint8Array>, TAR);
    },
  );

  addRoute(
    app,
    parts,
    {
      ...{ method: 'put', path: '/v1/sandboxes/{id}/archive', tag, scope },
      summary: 'Unpack a tar archive into a folder',
      params: sandboxParams,
      query: z.strictObject({ path: path.optional(), links: z.enum(['refused', 'kept']).optional() }),
      bytes: TAR,
      responses: { 200: { description: 'What it held.', schema: unpacked } },
    },
    async ({ params, query, caller, signal, context }) => {
      const live = sandboxes.get(caller.id, params.id);
      await usage.admitTransfer(caller);
      const spend = (bytes: number): Promise<void> => usage.spend(caller, { bytes });
      // Also of an archive that is refused in the middle.
      const archive = told(counted(context.req.raw, limits.fileBytes), spend);
      const links = query.links ?? 'refused';
      const { files, folders, bytes } = await live.upload(query.path ?? '.', archive, { signal, links });
      return json({ files, folders, bytes });
    },
  );
}

/** What passes, told in sizes; whoever stops reading ends the archive. */
async function* told(
  archive: AsyncIterable<Uint8Array>,
  tell: (bytes: number) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of archive) {
    await tell(chunk.length);
    yield chunk;
  }
}

/** Bytes of a guest: a browser that is led to them saves them, and shows nothing. */
function raw(body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>, type: string): Response {
  return new Response(body, {
    headers: { 'content-type': type, 'content-disposition': 'attachment' },
  });
}

function entryToJson({ name, path, type, size, modifiedAt }: FileEntry) {
  return { name, path, type, size, modified_at: modifiedAt };
}
