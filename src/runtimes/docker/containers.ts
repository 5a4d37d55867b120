/** The few things that are done with a container, whoever it is for. */
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { type CallOptions, type Engine, EngineError, type Hijacked, isNotFound } from './engine.ts';
import { kernelSawOutOfMemory } from './kernelLog.ts';

/** What `GET /containers/ID/json` tells, as far as it is read. */
export interface ContainerState {
  readonly State: {
    readonly Running: boolean;
    readonly Pid: number;
    readonly ExitCode: number;
    readonly OOMKilled: boolean;
    readonly Error: string;
    /** By the engine's clock, RFC 3339. */
    readonly StartedAt: string;
    readonly FinishedAt: string;
  };
  readonly HostConfig: {
    readonly Memory: number;
    readonly PidsLimit: number | null;
    readonly NanoCpus: number;
    readonly NetworkMode: string;
    readonly ReadonlyRootfs: boolean;
    readonly Privileged: boolean;
    readonly CapDrop: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
  };
}

/** How long an engine may take to take a container away. */
const REMOVAL_DEADLINE_MS = 20_000;

export async function createContainer(engine: Engine, name: string, body: object): Promise<string> {
  const { Id } = await engine.call<{ Id: string }>('POST', `/containers/create?name=${name}`, { body });
  return Id;
}

/** Connects to its standard streams; before it is started, so that nothing is missed. */
export function attach(engine: Engine, id: string): Promise<Hijacked> {
  return engine.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`);
}

export async function startContainer(engine: Engine, id: string): Promise<void> {
  await engine.call('POST', `/containers/${id}/start`);
}

export function inspectContainer(engine: Engine, id: string): Promise<ContainerState> {
  return engine.call<ContainerState>('GET', `/containers/${id}/json`);
}

/** Resolves when it runs no more. */
export async function untilStopped(
  engine: Engine,
  id: string,
  onSocket: NonNullable<CallOptions['onSocket']>,
): Promise<ContainerState['State']> {
  await engine.call('POST', `/containers/${id}/wait`, { deadlineMs: 0, onSocket });
  return (await inspectContainer(engine, id)).State;
}

/** How long after the end of a container the news that it ran out of memory may come. */
const LATE_NEWS_MS = 250;

/** Whether the engine says that a program of a container that has ended ran out of memory. */
export async function ranOutOfMemory(
  engine: Engine,
  id: string,
  state: ContainerState['State'],
): Promise<boolean> {
  if (await noticedOutOfMemory(engine, id, state, Date.parse(state.FinishedAt) + LATE_NEWS_MS)) return true;
  // containerd drops the news when the group is gone before it looks, as gVisor's is at once.
  return kernelSawOutOfMemory(id);
}

/**
 * The same as far as the engine knows by then (milliseconds since 1970). It learns of that and of the end in two
 * ways, and when the end is faster, only its list of events has both.
 */
export async function noticedOutOfMemory(
  engine: Engine,
  id: string,
  state: ContainerState['State'],
  by: number,
): Promise<boolean> {
  if (state.OOMKilled) return true;
  const since = Date.parse(state.StartedAt) / 1000;
  const filters = encodeURIComponent(JSON.stringify({ container: [id], event: ['oom'] }));
  const response = await engine.stream('GET', `/events?since=${since}&until=${by / 1000}&filters=${filters}`);
  return (await text(response)).trim() !== '';
}

/** Sends a signal to the container's init, which passes it on, except for SIGKILL, which ends everything. */
export async function signalContainer(
  engine: Engine,
  id: string,
  signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL',
): Promise<void> {
  try {
    await engine.call('POST', `/containers/${id}/kill?signal=${signal}`);
  } catch (error) {
    // It runs no more, which is what was asked for.
    if (!isNotFound(error) && !hasEnded(error)) throw error;
  }
}

/** 409, or in the words of runsc and containerd where it has ended just now and the engine does not know yet. */
function hasEnded(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    (error.status === 409 || /is not running|already finished|no such process/i.test(error.message))
  );
}

/** Ends it where it runs, and takes it away with its anonymous volumes; resolves when it is gone. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  await untilRemoved(() => engine.call('DELETE', `/containers/${id}?force=1&v=1`), `the container ${id}`);
}

export async function removeVolume(engine: Engine, name: string): Promise<void> {
  await untilRemoved(() => engine.call('DELETE', `/volumes/${name}?force=1`), `the volume ${name}`);
}

async function untilRemoved(remove: () => Promise<unknown>, what: string): Promise<void> {
  const deadline = Date.now() + REMOVAL_DEADLINE_MS;
  for (let wait = 5; ; wait = Math.min(wait * 2, 250)) {
    try {
      await remove();
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      // 409: somebody else is removing it, or it is still in use by what is being removed.
      const busy = error instanceof EngineError && (error.status === 409 || error.status === 500);
      if (!busy || Date.now() > deadline) {
        throw new SandboxError(
          'SANDBOX_FAILED',
          `${what} could not be removed: ${(error as Error).message}`,
          {
            hint: 'Run: glovebox prune',
            cause: error,
          },
        );
      }
    }
    await delay(wait);
  }
}
