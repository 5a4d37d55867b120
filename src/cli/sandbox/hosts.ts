/** The background processes of this user: which there are, which of them has a sandbox, and how one is started. */
import { statSync } from 'node:fs';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { packageFile, packageVersion } from '../../version.ts';
import { socketOf, surroundingsIn } from '../sandboxHost/addresses.ts';
import { isHostFolder } from '../sandboxHost/folder.ts';
import type { CreatedJson, CreateRequest, SandboxJson } from '../sandboxHost/protocol.ts';
import { nameOfSurroundings } from '../sandboxHost/surroundings.ts';
import { warn } from '../warn.ts';
import { ask, askJson, NobodyThere, OtherVersion, tell } from './ask.ts';
import { folder, settings, surroundings } from './here.ts';
import { type HostStart, startHost } from './startHost.ts';

/** How long the making of a sandbox that nobody wants any more is waited for. */
const GIVE_UP_MS = 10_000;

/** How often a process may end just before it is asked. */
const ATTEMPTS = 10;

/** Makes a sandbox in the process for these surroundings, which is started where there is none. */
export async function createAt(
  wish: Omit<CreateRequest, 'cwd' | 'env'>,
  signal: AbortSignal,
): Promise<CreatedJson> {
  if (wish.id !== undefined) await assertFree(wish.id);
  const start = ownStart();
  const socket = socketOf(start.folder, start.name);
  const json: CreateRequest = { ...wish, cwd: process.cwd(), env: settings() };
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      if (!isHostFolder(start.folder)) throw new NobodyThere();
      return await makeAt(socket, json, signal);
    } catch (error) {
      if (!(error instanceof NobodyThere)) throw error;
      await startHost(start, signal);
    }
  }
  throw new SandboxError('SANDBOX_FAILED', `The background process ended ${ATTEMPTS} times at its start.`, {
    hint: 'Run the command again.',
  });
}

/**
 * Whoever gives up while a sandbox is made waits for its name, so that it can be taken away again: an answer that is on
 * its way when nobody listens any more would leave one that nobody was told of.
 */
async function makeAt(socket: string, json: CreateRequest, signal: AbortSignal): Promise<CreatedJson> {
  signal.throwIfAborted();
  const tooLate = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const giveUp = (): void => {
    timer = setTimeout(() => tooLate.abort(), GIVE_UP_MS);
  };
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const question = { method: 'POST', path: '/v1/sandboxes', json, signal: tooLate.signal } as const;
    const created = await askJson<CreatedJson>(socket, question);
    if (signal.aborted) await tell(socket, { method: 'DELETE', path: pathOf(created.id) });
    signal.throwIfAborted();
    return created;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

/** The socket of the process that has the sandbox. Throws `SANDBOX_NOT_FOUND`, or why it ended where that is known. */
export async function hostOf(id: string): Promise<string> {
  const path = pathOf(id);
  let ended: unknown;
  for (const socket of sockets()) {
    try {
      (await ask(socket, { path })).resume();
      return socket;
    } catch (error) {
      // It may be one of theirs, but only where it is nobody else's.
      if (error instanceof OtherVersion) ended ??= error;
      else if (isSandboxError(error) && error.code === 'SANDBOX_CLOSED') ended = error;
      else if (!isElsewhere(error)) throw error;
    }
  }
  throw (
    ended ??
    new SandboxError('SANDBOX_NOT_FOUND', `There is no sandbox ${JSON.stringify(id.slice(0, 100))}.`, {
      hint: 'Run: glovebox sandbox list. One that expired or was idle for too long is gone.',
      details: { sandboxId: id.slice(0, 100), folder: folder() },
    })
  );
}

/** Asks every process; one that ends just now has nothing to say. */
export async function askAll<Answer>(method: 'GET' | 'DELETE', path: string): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const socket of sockets()) {
    try {
      answers.push(await askJson<Answer>(socket, { method, path }));
    } catch (error) {
      if (error instanceof OtherVersion) warn(`${error.message} ${error.hint}`);
      else if (!(error instanceof NobodyThere)) throw error;
    }
  }
  return answers;
}

/** Where a sandbox is asked for things. */
export function pathOf(id: string): string {
  return `/v1/sandboxes/${encodeURIComponent(id)}`;
}

async function assertFree(id: string): Promise<void> {
  const lists = await askAll<{ sandboxes: readonly SandboxJson[] }>('GET', '/v1/sandboxes');
  if (!lists.some(({ sandboxes }) => sandboxes.some((sandbox) => sandbox.id === id))) return;
  throw new SandboxError('INPUT_INVALID', `There is a sandbox called ${id} already.`, {
    hint: `Take another id, or none, or remove that one: glovebox sandbox rm ${id}`,
    details: { sandboxId: id },
  });
}

function isElsewhere(error: unknown): boolean {
  return error instanceof NobodyThere || (isSandboxError(error) && error.code === 'SANDBOX_NOT_FOUND');
}

function sockets(): string[] {
  const path = folder();
  return isHostFolder(path) ? surroundingsIn(path).map((name) => socketOf(path, name)) : [];
}

function ownStart(): HostStart {
  const program = packageFile('dist/cli/sandboxHost.js');
  const environment = surroundings();
  // A build of its own gets a process of its own: a running one would load parts of the other.
  const build = [packageVersion(), process.execPath, program, String(statSync(program).mtimeMs)];
  return { folder: folder(), program, environment, name: nameOfSurroundings(environment, build) };
}
