/** Reads what the kernel says about processes. Everything here answers undefined for a process that is gone. */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStat {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  /** Clock ticks since boot: with the pid it names one process for good. */
  readonly startTime: string;
}

/** Parses `/proc/PID/stat`; the command's name may hold spaces and parentheses. */
export function parseStat(text: string): ProcessStat | undefined {
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const [state, parent, , session] = fields;
  const startTime = fields[19];
  if (end < 0 || state === undefined || startTime === undefined) return undefined;
  return {
    pid: Number.parseInt(text, 10),
    state,
    parent: Number(parent),
    session: Number(session),
    startTime,
  };
}

/** The process's figures now; undefined when it is gone. */
export function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Every process that this one may see. */
export function allProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)) ?? []);
}

/** The numbers of a process's threads; none when it is gone. */
export function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    // ENOENT or ESRCH.
    return [];
  }
}

/** True while the very process with this start time exists and is not merely waiting to be reaped. */
export function isRunning({ pid, startTime }: Pick<ProcessStat, 'pid' | 'startTime'>): boolean {
  const now = readStat(pid);
  return now !== undefined && now.startTime === startTime && now.state !== 'Z' && now.state !== 'X';
}

/** The text of a file below `/proc`; undefined when the process is gone or not ours to read. */
export function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    // ENOENT and ESRCH: gone. EACCES and EPERM: another user's. Both mean that there is nothing to tell.
    return undefined;
  }
}

/** Sends a signal; a process that is already gone is what was asked for. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // ESRCH: gone already. EPERM: the pid belongs to somebody else by now, so ours is gone.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
