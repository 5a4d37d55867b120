import { spawn } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { SandboxError } from '../../errors.ts';
import { logOf, sweepFolder } from '../sandboxHost/addresses.ts';
import { makeHostFolder } from '../sandboxHost/folder.ts';
import type { Started } from '../sandboxHost/protocol.ts';
import { errorFrom } from './ask.ts';

export interface HostStart {
  readonly folder: string;
  /** The built program. */
  readonly program: string;
  /** All of it. */
  readonly environment: Readonly<Record<string, string>>;
  /** That of its surroundings. */
  readonly name: string;
}

const DEADLINE_MS = 30_000;

/**
 * Starts a background process; resolves when somebody listens at its socket, be it this one or another that was
 * faster. It is in a session of its own, in the root folder, and has none of our descriptors.
 */
export async function startHost(
  { folder, program, environment, name }: HostStart,
  signal: AbortSignal,
): Promise<void> {
  makeHostFolder(folder);
  await sweepFolder(folder);
  const log = openLog(folder, name);
  closeInherited();
  try {
    const child = spawn(process.execPath, [program, folder, name], {
      cwd: '/',
      env: environment,
      detached: true,
      stdio: ['ignore', 'ignore', log, 'pipe'],
    });
    child.unref();
    const failed = new Promise<never>((_, reject) => child.once('error', reject));
    const told = firstWords(child.stdio[3] as Readable, signal, () => child.kill('SIGTERM'));
    check(await Promise.race([told, failed]), logOf(folder, name));
  } finally {
    closeSync(log);
  }
}

function openLog(folder: string, name: string): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  return openSync(logOf(folder, name), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
}

/**
 * What it says about its start: all of it, until it lets go of the pipe. When we are told to stop it goes on, because
 * somebody else may have found it; nobody needs one that does not come to a start.
 */
async function firstWords(pipe: Readable, signal: AbortSignal, giveUp: () => void): Promise<string> {
  let said = '';
  pipe.setEncoding('utf8');
  const stop = (): void => void pipe.destroy(signal.reason as Error);
  const deadline = setTimeout(() => {
    giveUp();
    pipe.destroy(new Error(`The background process was not there after ${DEADLINE_MS} ms.`));
  }, DEADLINE_MS);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of pipe) said += String(chunk);
    return said;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', stop);
    pipe.destroy();
  }
}

function check(said: string, log: string): void {
  const started = said === '' ? undefined : (JSON.parse(said) as Started);
  if (started !== undefined && 'ready' in started) return;
  if (started !== undefined) throw errorFrom(started.error);
  throw new SandboxError('SANDBOX_FAILED', 'The background process ended at its start.', {
    hint: `Look at its log: ${log}`,
    details: { log, tail: tailOf(log) },
  });
}

function tailOf(log: string): string {
  try {
    return readFileSync(log, 'utf8').slice(-2000);
  } catch {
    // Without it the message has to do.
    return '';
  }
}

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes what we were given besides the standard streams and would hand on: Node itself opens nothing that a child
 * gets, and takes that from some of what it inherits but not from all. Elsewhere than on Linux children get none.
 */
function closeInherited(): void {
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name);
    if (descriptor > 2 && isHandedOn(descriptor)) closeSync(descriptor);
  }
}

function isHandedOn(descriptor: number): boolean {
  try {
    const [, flags = ''] =
      /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== '' && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The one that the folder was read with.
    return false;
  }
}
