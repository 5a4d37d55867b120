import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../../errors.ts';
import { isAbandoned } from '../owner.ts';
import { sendSignal } from '../procfs.ts';

/** A control file's text without its newline; undefined when this kernel does not have it. */
export function readControl(folder: string, file: string): string | undefined {
  try {
    return readFileSync(`${folder}/${file}`, 'utf8').trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EOPNOTSUPP: some files exist and answer nothing, as memory.peak does on older kernels.
    if (code === 'ENOENT' || code === 'EOPNOTSUPP') return undefined;
    throw error;
  }
}

export function writeControl(folder: string, file: string, value: string | number): void {
  writeFileSync(`${folder}/${file}`, String(value));
}

/**
 * Lets a group that has its quota save up as much again, and begin with that: starting a sandbox and an interpreter
 * takes one burst of processor time, which the quota alone stretches over several periods. Over any longer time
 * the share stays what it is. The kernel refills when this is set (`tg_set_cfs_bandwidth` in
 * kernel/sched/core.c; Linux 5.14 and later, Documentation/scheduler/sched-bwc.rst).
 */
export function allowBurst(
  folder: string,
  file: 'cpu.max.burst' | 'cpu.cfs_burst_us',
  quotaUs: number,
): void {
  if (existsSync(`${folder}/${file}`)) writeControl(folder, file, quotaUs);
}

/** The number behind `key` in a file of `key value` lines. */
export function readKeyed(folder: string, file: string, key: string): number | undefined {
  const line = readControl(folder, file)
    ?.split('\n')
    .find((candidate) => candidate.startsWith(`${key} `));
  return line === undefined ? undefined : Number(line.slice(key.length + 1));
}

/** A limit's value; null for `max` and for version 1's way of saying that there is none. */
export function readLimit(folder: string, file: string): number | null {
  const text = readControl(folder, file);
  if (text === undefined || text === 'max') return null;
  const value = Number(text);
  return value > Number.MAX_SAFE_INTEGER || value < 0 ? null : value;
}

export function members(folder: string): number[] {
  const text = readControl(folder, 'cgroup.procs');
  return text ? text.split('\n').map(Number) : [];
}

/** How long ending all processes of a group may take before we say that it failed. */
const KILL_DEADLINE_MS = 10_000;

/**
 * Kills until nobody is left. Forking must be forbidden before: then each round only shrinks the group,
 * however fast its members were.
 */
export async function killMembers(folder: string): Promise<void> {
  const deadline = Date.now() + KILL_DEADLINE_MS;
  for (let pids = members(folder); pids.length > 0; pids = members(folder)) {
    for (const pid of pids) if (pid > 0) sendSignal(pid, 'SIGKILL');
    if (Date.now() > deadline) {
      throw new SandboxError('SANDBOX_FAILED', `${pids.length} processes in ${folder} could not be ended.`, {
        hint: 'A process in uninterruptible sleep ends when its input or output does; run: glovebox prune',
        details: { pids },
      });
    }
    await delay(2);
  }
}

/** Whoever asks while it is under way waits for that: a later run must not meet an ending that is not over. */
export function oneAtATime(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= action().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Removes an empty group. The kernel may need a moment after the last process (EBUSY). */
export async function removeGroup(folder: string): Promise<void> {
  const deadline = Date.now() + KILL_DEADLINE_MS;
  for (;;) {
    try {
      rmdirSync(folder);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || Date.now() > deadline) throw error;
      await delay(2);
    }
  }
}

/** Moves this process to the group that it is in. */
export function moveToWhereWeAre(own: string): void {
  // A shortcut that does not work costs only what it would have saved.
  writeFile(`${own}/cgroup.procs`, String(process.pid)).catch(() => {});
}

/** Ends and removes the groups in this folder that a dead process of ours left; resolves to their names. */
export async function sweepIn(folder: string): Promise<string[]> {
  const abandoned = subfolders(folder).filter(isAbandoned);
  for (const name of abandoned) {
    const group = `${folder}/${name}`;
    try {
      if (existsSync(`${group}/pids.max`)) writeControl(group, 'pids.max', 0);
      for (const inner of subfolders(group)) {
        await killMembers(`${group}/${inner}`);
        await removeGroup(`${group}/${inner}`);
      }
      await killMembers(group);
      await removeGroup(group);
    } catch (error) {
      // Another process of ours was faster.
      if (existsSync(group)) throw error;
    }
  }
  return abandoned;
}

/** The same below a folder at any depth: a crashed process may have been in another group than we are. */
export async function sweepBelow(folder: string): Promise<string[]> {
  const removed = await sweepIn(folder);
  for (const name of subfolders(folder)) removed.push(...(await sweepBelow(`${folder}/${name}`)));
  return removed;
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Removed meanwhile, or closed to us: there is nothing of ours in it.
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENODEV') return [];
    throw error;
  }
}

/** What is thrown when the kernel refuses a group or a limit. */
export function notMade(error: unknown): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `The cgroup with the limits cannot be made: ${(error as Error).message}`,
    {
      hint: 'Check that the limits are within what this kernel takes, and run: glovebox doctor',
      cause: error,
    },
  );
}
