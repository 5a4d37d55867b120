import { readdirSync, readlinkSync } from 'node:fs';
import { allProcesses, type ProcessStat, readProc } from '../runtimes/host/procfs.ts';

/** All that this process started, and what those started; none where the kernel does not tell. */
export function descendants(): ProcessStat[] {
  if (process.platform !== 'linux') return [];
  const all = allProcesses();
  const found = new Map<number, ProcessStat>();
  let generation = [process.pid];
  while (generation.length > 0) {
    const children = all.filter(({ pid, parent }) => generation.includes(parent) && !found.has(pid));
    for (const child of children) found.set(child.pid, child);
    generation = children.map(({ pid }) => pid);
  }
  return [...found.values()];
}

/**
 * What processes hold together, in MB: memory that several share counts for each with its part (`Pss` of
 * `/proc/PID/smaps_rollup`). What holds the memory of another process (languages/waiting/holder) has none of its own, though
 * the kernel tells it of both: it has nothing open, and a sibling with the very same figures.
 */
export function memoryMb(processes: readonly ProcessStat[]): number {
  const known = processes.map(({ pid, parent }) => {
    const figures = readProc(`${pid}/smaps_rollup`) ?? '';
    const [, pss = '0'] = /^Pss:\s+(\d+) kB$/m.exec(figures) ?? [];
    return { pid, parent, figures, kilobytes: Number(pss) };
  });
  const counted = known.filter(
    (one) =>
      !hasNothingOpen(one.pid) ||
      !known.some(
        ({ pid, parent, figures }) => pid !== one.pid && parent === one.parent && figures === one.figures,
      ),
  );
  return sum(counted.map(({ kilobytes }) => kilobytes)) / 1024;
}

function hasNothingOpen(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).length === 0;
  } catch {
    // It is gone, or another user's.
    return false;
  }
}

/**
 * Processor seconds that this process has used, and those that it started which are not inside a sandbox: those have a
 * process id in our own namespace only.
 */
export function processorSec(): number {
  const { user, system } = process.cpuUsage();
  const ours = namespaceOf('self');
  const helpers = descendants().filter(({ pid }) => namespaceOf(pid) === ours);
  return (user + system) / 1e6 + sum(helpers.map(({ pid }) => ticksOf(pid))) / TICKS_PER_SEC;
}

/** `USER_HZ`, which is the same on every architecture that Node runs on. */
const TICKS_PER_SEC = 100;

function ticksOf(pid: number): number {
  const stat = readProc(`${pid}/stat`) ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

function namespaceOf(pid: number | 'self'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    // It is gone.
    return undefined;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
