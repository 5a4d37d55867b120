/**
 * Names for what can outlive this process (folders, cgroups): they tell which process made them, so that a
 * later start can remove what a crashed one left, and nothing else.
 */
import { readlinkSync } from 'node:fs';
import { isRunning, readStat } from './procfs.ts';

const PATTERN = /^glovebox-(\d+)-(\d+)-(\d+)-[A-Za-z0-9]+$/;

/** `glovebox-<pid namespace>-<pid>-<start time>-<id>`; the id is letters and digits. */
export function ownedName(id: string): string {
  ownPrefix ??= `glovebox-${pidNamespace()}-${process.pid}-${readStat(process.pid)?.startTime ?? 0}`;
  return `${ownPrefix}-${id}`;
}

let ownPrefix: string | undefined;

/** True for a name that `ownedName` made in a process that no longer exists. */
export function isAbandoned(name: string): boolean {
  const [, namespace, pid, startTime = ''] = PATTERN.exec(name) ?? [];
  // A process of another pid namespace (a container that shares the folder) cannot be looked up from here.
  if (pid === undefined || namespace !== pidNamespace()) return false;
  if (process.platform !== 'linux') return !pidExists(Number(pid));
  return !isRunning({ pid: Number(pid), startTime });
}

function pidNamespace(): string {
  if (process.platform !== 'linux') return '0';
  return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
}

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
