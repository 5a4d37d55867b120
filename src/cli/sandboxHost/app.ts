/** What a background process can be asked for: sandboxes as resources, the same operations as the library's. */
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { SandboxError } from '../../errors.ts';
import { WaitingDryRuns } from '../../operations/dryRun/waitingDryRuns.ts';
import type { FileEntry } from '../../runtimes/runtime.ts';
import { packageVersion } from '../../version.ts';
import { statusOf } from '../../web/statusOf.ts';
import { errorJson } from './errorJson.ts';
import { Executions } from './executions.ts';
import { startInstallation } from './installation.ts';
import type { HostLife } from './life.ts';
import {
  CALLER_HEADER,
  type CreateRequest,
  type DownloadRequest,
  ENDING_HEADER,
  type ExecuteRequest,
  type InstallRequest,
  PID_HEADER,
  type UploadRequest,
  VERSION_HEADER,
} from './protocol.ts';
import type { Sandboxes } from './sandboxes.ts';

/** `caller` holds, for all that is done because of a request, who has made it. */
export function buildApp(
  sandboxes: Sandboxes,
  life: HostLife,
  caller: AsyncLocalStorage<string | undefined>,
): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const dryRuns = new WaitingDryRuns();
  const executions = new Executions(dryRuns);

  app.use(async (context, next) => {
    await caller.run(context.req.header(CALLER_HEADER), next);
    context.header(VERSION_HEADER, packageVersion());
    context.header(PID_HEADER, String(process.pid));
  });
  app.onError((error, context) => {
    const json = errorJson(error);
    return context.json({ error: json }, statusOf(json.code));
  });

  app.get('/v1/sandboxes', (context) => context.json({ sandboxes: sandboxes.list() }));
  app.post('/v1/sandboxes', async (context) => {
    if (life.ending) return context.body(null, 503, { [ENDING_HEADER]: '1' });
    const { signal } = context.req.raw;
    const created = await life.making(async () => {
      const made = await sandboxes.create(await context.req.json<CreateRequest>(), signal);
      // Nobody would ever know of it.
      if (signal.aborted) await sandboxes.destroy(made.id);
      return made;
    });
    return context.json(created, 201);
  });
  app.delete('/v1/sandboxes', async (context) => {
    const all = sandboxes.list().map(({ id }) => id);
    await Promise.all(all.map((id) => sandboxes.destroy(id)));
    // There may have been none to begin with.
    life.look();
    return context.json({ removed: all });
  });
  app.get('/v1/sandboxes/:id', (context) => context.json(sandboxes.info(context.req.param('id'))));
  app.delete('/v1/sandboxes/:id', async (context) => {
    await sandboxes.destroy(context.req.param('id'));
    return context.body(null, 204);
  });

  app.post('/v1/sandboxes/:id/executions', async (context) => {
    const { id } = context.req.param();
    return executions.start(id, sandboxes.get(id), await context.req.json<ExecuteRequest>());
  });
  app.put('/v1/sandboxes/:id/executions/:execution/stdin', async (context) => {
    const { id, execution } = context.req.param();
    await executions.feed(id, execution, context.env.incoming);
    return context.body(null, 204);
  });
  app.delete('/v1/sandboxes/:id/executions/:execution', (context) => {
    const { id, execution } = context.req.param();
    executions.cancel(id, execution);
    return context.body(null, 204);
  });

  app.post('/v1/sandboxes/:id/dry-runs/:run/commit', async (context) => {
    const { id, run } = context.req.param();
    sandboxes.get(id);
    return context.json({ dry_run: run, effects_sha256: await dryRuns.commit(id, run) });
  });
  app.delete('/v1/sandboxes/:id/dry-runs/:run', async (context) => {
    const { id, run } = context.req.param();
    sandboxes.get(id);
    await dryRuns.discard(id, run);
    return context.body(null, 204);
  });

  app.post('/v1/sandboxes/:id/packages', async (context) =>
    startInstallation(sandboxes.get(context.req.param('id')), await context.req.json<InstallRequest>()),
  );

  app.get('/v1/sandboxes/:id/files', async (context) => {
    const { files, truncated } = await sandboxes
      .get(context.req.param('id'))
      .listFiles(context.req.query('path'));
    return context.json({ files: files.map(entryJson), ...(truncated ? { truncated } : {}) });
  });
  app.delete('/v1/sandboxes/:id/files', async (context) => {
    const recursive = context.req.query('recursive') === 'true';
    await sandboxes.get(context.req.param('id')).removeFile(context.req.query('path') ?? '', { recursive });
    return context.body(null, 204);
  });
  app.get('/v1/sandboxes/:id/files/content', async (context) => {
    const bytes = await sandboxes.get(context.req.param('id')).readBytes(context.req.query('path') ?? '');
    return context.body(new Uint8Array(bytes), 200, { 'content-type': 'application/octet-stream' });
  });
  app.put('/v1/sandboxes/:id/files/content', async (context) => {
    const sandbox = sandboxes.get(context.req.param('id'));
    const bytes = await readBytes(context.env.incoming);
    return context.json(await sandbox.writeFile(context.req.query('path') ?? '', bytes));
  });

  app.post('/v1/sandboxes/:id/uploads', async (context) => {
    const sandbox = sandboxes.get(context.req.param('id'));
    const { host_path, path, exclude } = await context.req.json<UploadRequest>();
    const { signal } = context.req.raw;
    return context.json(await sandbox.uploadFrom(host_path, path, { exclude, signal }));
  });
  app.post('/v1/sandboxes/:id/downloads', async (context) => {
    const sandbox = sandboxes.get(context.req.param('id'));
    const { path, host_folder, overwrite } = await context.req.json<DownloadRequest>();
    const { signal } = context.req.raw;
    return context.json(await sandbox.downloadTo(path, host_folder, { overwrite, signal }));
  });
  return app;
}

function entryJson({ modifiedAt, ...entry }: FileEntry): Record<string, unknown> {
  return { ...entry, modified_at: modifiedAt };
}

/** As much as is handed out of a sandbox at once. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** Also what is too much is read to its end: whoever sends it listens only then. */
async function readBytes(body: Readable): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += (chunk as Buffer).length;
    if (size > MAX_FILE_BYTES) chunks.length = 0;
    else chunks.push(chunk as Buffer);
  }
  if (size <= MAX_FILE_BYTES) return Buffer.concat(chunks);
  throw new SandboxError(
    'INPUT_INVALID',
    `The file has ${size} bytes, and at most ${MAX_FILE_BYTES} can be written at once.`,
    {
      hint: 'Carry it as a file of this host: glovebox sandbox upload',
      details: { size },
    },
  );
}
