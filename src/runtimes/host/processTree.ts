import { setTimeout as delay } from 'node:timers/promises';
import { allProcesses, isRunning, type ProcessStat, readProc, sendSignal } from './procfs.ts';

/** What tells that a process belongs to a run of a plain process. */
export interface TreeMarks {
  /** The main program, which leads a session of its own; absent when only the environment is known. */
  readonly pid?: number;
  /** The start time of the main program: nothing older can belong to its tree. */
  readonly since?: string;
  /** Assignments that only this run's environment holds; one of them is enough. */
  readonly variables: readonly string[];
  /** The main programs of other runs with the same environment: what is in their sessions is theirs. */
  readonly others?: readonly number[];
}

/** Rounds of looking and killing; a tree that still grows after so many is faster than we are. */
const ROUNDS = 50;

/**
 * Ends what is left of a plain process's tree: its session, its descendants, and processes that still carry
 * its environment, daemonised ones included. One that scrubs its environment, double-forks and starts a
 * session of its own is not found: `processes: 'best-effort'` says so.
 */
export async function endTree(marks: TreeMarks): Promise<void> {
  if (process.platform !== 'linux') {
    if (marks.pid !== undefined) sendSignal(-marks.pid, 'SIGKILL');
    return;
  }
  for (let round = 0; round < ROUNDS; round++) {
    const tree = findTree(allProcesses(), marks, (pid) => readProc(`${pid}/environ`) ?? '');
    if (tree.length === 0) return;
    // Stopped first: a process that does not run cannot fork between two looks.
    for (const member of tree) sendIfSame(member, 'SIGSTOP');
    for (const member of tree) sendIfSame(member, 'SIGKILL');
    await delay(1);
  }
}

/** The processes with these marks, and all their descendants. Pure but for `environment`. */
export function findTree(
  all: readonly ProcessStat[],
  { pid, since, variables, others = [] }: TreeMarks,
  environment: (pid: number) => string,
): ProcessStat[] {
  const processes = all.filter(({ startTime }) => Number(startTime) >= Number(since ?? 0));
  // Never 0: it is the kernel's, and the parent and the session of everything that the kernel started.
  const leader = pid || undefined;
  const members = new Set<number>(leader === undefined ? [] : [leader]);
  for (const candidate of processes) {
    if (others.includes(candidate.session)) continue;
    const assignments = environment(candidate.pid).split('\0');
    if (candidate.session === leader || variables.some((variable) => assignments.includes(variable))) {
      members.add(candidate.pid);
    }
  }
  for (let grown = true; grown; ) {
    grown = false;
    for (const candidate of processes) {
      if (!members.has(candidate.pid) && members.has(candidate.parent)) {
        members.add(candidate.pid);
        grown = true;
      }
    }
  }
  return processes.filter(
    (candidate) =>
      members.has(candidate.pid) &&
      candidate.pid !== process.pid &&
      candidate.state !== 'Z' &&
      candidate.state !== 'X',
  );
}

function sendIfSame(member: ProcessStat, signal: NodeJS.Signals): void {
  if (isRunning(member)) sendSignal(member.pid, signal);
}
