/**
 * The background process of `glovebox sandbox`: it has the sandboxes of one user, made with the same surroundings, until
 * the last one is gone. It is started by `create`, with its folder and the name of its surroundings, says on descriptor
 * 3 how that went, and holds nothing of whoever started it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { closeSync, rmdirSync, writeSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { getRequestListener } from '@hono/node-server';
import { logOf, removeIfThere, socketOf } from './addresses.ts';
import { errorJson } from './errorJson.ts';
import { HostLife } from './life.ts';
import { takeSocket } from './listen.ts';
import { log } from './log.ts';
import type { Started } from './protocol.ts';
import type { Sandboxes } from './sandboxes.ts';

const STARTER_FD = 3;

/** How long whoever started it may take until it is asked for the first sandbox. */
const FIRST_CALL_MS = 10_000;

/** How long answers that are being given may take when all is over. */
const LAST_ANSWERS_MS = 5000;

async function main(folder: string, surroundings: string): Promise<void> {
  const { promise: listener, resolve: listenWith } = deferred<Listener>();
  const server = createServer((request, response) => {
    void listener.then((handle) => handle(request, response));
  });
  // A program may be fed for as long as it runs.
  server.requestTimeout = 0;
  if (!(await takeSocket(server, folder, surroundings))) return;
  try {
    listenWith(await open(server, folder, surroundings));
  } catch (error) {
    removeIfThere(socketOf(folder, surroundings));
    throw error;
  }
}

type Listener = ReturnType<typeof getRequestListener>;

/** Loads all that answers take; whoever has no socket needs none of it. */
async function open(server: Server, folder: string, surroundings: string): Promise<Listener> {
  const [{ getRequestListener }, { buildApp }, { Sandboxes }] = await Promise.all([
    import('@hono/node-server'),
    import('./app.ts'),
    import('./sandboxes.ts'),
  ]);
  const caller = new AsyncLocalStorage<string | undefined>();
  const sandboxes = new Sandboxes(
    () => life.look(),
    () => caller.getStore(),
  );
  const life = new HostLife({
    count: () => sandboxes.list().length,
    end: () => {
      // From here on the name is free for the next one.
      removeIfThere(socketOf(folder, surroundings));
      void end(sandboxes, server).finally(() => leave(folder, surroundings));
    },
    firstCallMs: FIRST_CALL_MS,
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => life.stop());
  log('started');
  return getRequestListener(buildApp(sandboxes, life, caller).fetch, { overrideGlobalObjects: false });
}

/** Whoever waits for an answer gets it, if only that his sandbox has gone. */
async function end(sandboxes: Sandboxes, server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  await sandboxes.close().catch(errorJson);
  server.closeIdleConnections();
  await Promise.race([closed, delay(LAST_ANSWERS_MS)]);
}

/** Nothing is left of one that ended in good order. */
function leave(folder: string, surroundings: string): never {
  removeIfThere(logOf(folder, surroundings));
  try {
    rmdirSync(folder);
  } catch {
    // Somebody else is in it.
  }
  process.exit(0);
}

function deferred<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

/** Tells whoever started us, who may be gone by now, and lets go of the descriptor. */
function tellStarter(started: Started): void {
  try {
    writeSync(STARTER_FD, JSON.stringify(started));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  } finally {
    closeSync(STARTER_FD);
  }
}

const [, , folder = '', surroundings = ''] = process.argv;
main(folder, surroundings).then(
  () => tellStarter({ ready: true }),
  (error: unknown) => {
    tellStarter({ error: errorJson(error) });
    process.exit(1);
  },
);
