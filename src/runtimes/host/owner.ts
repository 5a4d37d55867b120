/**
 * Names for what can outlive this process (folders, cgroups): they tell which process made them, so that a
 * later start can remove what a crashed one left, and nothing else.
 */
import { isRunning, readStat } from './procfs.ts';

const PATTERN = /^glovebox-(\d+)-(\d+)-[A-Za-z0-9]+$/;

/** `glovebox-<pid>-<start time>-<id>`; the id is letters and digits. */
export function ownedName(id: string): string {
  return `glovebox-${process.pid}-${readStat(process.pid)?.startTime ?? 0}-${id}`;
}

/** True for a name that `ownedName` made in a process that no longer exists. */
export function isAbandoned(name: string): boolean {
  const match = PATTERN.exec(name);
  if (!match) return false;
  const [, pid = '', startTime = ''] = match;
  if (process.platform !== 'linux') return !pidExists(Number(pid));
  return !isRunning({ pid: Number(pid), startTime });
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
