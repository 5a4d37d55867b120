/** Which process something in a folder belongs to, so that what a dead one left can be told from what is in use. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessOwner {
  readonly pid: number;
  /** Names the process for good, where the kernel tells it. */
  readonly startTime: string;
  /** Where its number means something: the host and its process namespace. */
  readonly where: string;
}

/** This process. */
export function thisProcess(): ProcessOwner {
  return { pid: process.pid, startTime: startTimeOf(process.pid) ?? '', where: here() };
}

/** `elsewhere`: on another host or in another process namespace, where it cannot be looked up from here. */
export function lifeOf({ pid, startTime, where }: ProcessOwner): 'alive' | 'dead' | 'elsewhere' {
  if (where !== here()) return 'elsewhere';
  return startTimeOf(pid) === startTime ? 'alive' : 'dead';
}

/** The owner that a file names; undefined where it names none. */
export function asProcessOwner(value: unknown): ProcessOwner | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { pid, startTime, where } = value as Partial<Record<keyof ProcessOwner, unknown>>;
  if (!Number.isSafeInteger(pid) || (pid as number) < 1) return undefined;
  if (typeof startTime !== 'string' || typeof where !== 'string') return undefined;
  return { pid: pid as number, startTime, where };
}

function here(): string {
  const namespace = process.platform === 'linux' ? readlinkSync('/proc/self/ns/pid') : '';
  return `${hostname()} ${namespace}`;
}

/** Undefined when there is no such process. */
function startTimeOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      // A dead one that nobody has reaped does nothing any more.
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
    } catch {
      // ENOENT, or ESRCH where it ended while it was read.
      return undefined;
    }
  }
  try {
    process.kill(pid, 0);
    return '';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? '' : undefined;
  }
}
