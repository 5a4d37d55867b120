import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import {
  allProcesses,
  isRunning,
  type ProcessStat,
  readProc,
  readStat,
  sendSignal,
  threadsOf,
} from './procfs.ts';

/** One process for good: a pid may be another's later. */
export type Identity = Pick<ProcessStat, 'pid' | 'startTime'>;

/** How long the kernel may take to end a namespace's processes before we say that it failed. */
const TEARDOWN_DEADLINE_MS = 10_000;
const QUICK_LOOKS = 20;

/** The oldest child of a process; undefined when it has none. */
export function firstChild(parent: number): number | undefined {
  return childrenOf(parent)[0]?.pid;
}

/** The children of a process, the oldest first; the kernel lists them by the thread that started each. */
export function childrenOf(parent: number): ProcessStat[] {
  const lists = threadsOf(parent).flatMap((thread) => readProc(`${parent}/task/${thread}/children`) ?? []);
  const children =
    lists.length > 0
      ? lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
      : allProcesses().flatMap((other) => (other.parent === parent ? [other.pid] : []));
  const known = children.flatMap((pid) => readStat(pid) ?? []);
  // Of those that started in one tick of the clock the kernel's order is right: numbers begin anew some time.
  return known.sort((a, b) => Number(a.startTime) - Number(b.startTime));
}

/** Everything that a process started, and what that started. */
export function descendantsOf(ancestor: number): ProcessStat[] {
  return childrenOf(ancestor).flatMap((child) => [child, ...descendantsOf(child.pid)]);
}

export function sendIfRunning(process: Identity, signal: NodeJS.Signals): void {
  if (isRunning(process)) sendSignal(process.pid, signal);
}

/**
 * The end of a namespace's init is the end of everything in it: the kernel sees to that first. Where nobody waits for it,
 * without `quickLooks` this process does something else meanwhile.
 */
export async function untilGone(init: Identity, quickLooks = QUICK_LOOKS): Promise<void> {
  const deadline = Date.now() + TEARDOWN_DEADLINE_MS;
  for (let look = 0; isRunning(init); look++) {
    if (Date.now() > deadline) {
      throw new SandboxError('SANDBOX_FAILED', `Process ${init.pid}, a sandbox's init, could not be ended.`, {
        hint: 'A process in uninterruptible sleep ends when its input or output does.',
        details: { pid: init.pid },
      });
    }
    // Mostly it is a matter of less than a millisecond.
    await (look < quickLooks ? nextTurn() : delay(1));
  }
}
