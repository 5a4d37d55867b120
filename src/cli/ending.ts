import type { ExecutionMeta, ExecutionResult } from '../result/result.ts';
import { passOn } from './passOn.ts';

/** The exit status of the command line for a result. */
export function exitStatus({ outcome, exitCode }: Pick<ExecutionResult, 'outcome' | 'exitCode'>): number {
  switch (outcome) {
    case 'exited':
      return exitCode;
    case 'timed_out':
      return 124;
    case 'blocked':
    case 'denied':
      return 126;
    case 'cancelled':
      return 130;
    case 'killed':
    case 'out_of_memory':
      return 137;
  }
}

/** How a program ended, as far as people are told. */
export interface Ending {
  readonly outcome: ExecutionResult['outcome'];
  readonly stdout: string;
  readonly stderr: string;
  readonly timeoutSec: number | null;
  readonly memoryMb: number | null;
  readonly killedBy: ExecutionMeta['killedBy'] | undefined;
  readonly signal: number | undefined;
}

/** Prints what is left to say when the output has gone through, or the output too where it has not. */
export async function printEnd(end: Ending, streamed: boolean): Promise<void> {
  if (!streamed || end.outcome === 'blocked' || end.outcome === 'denied') {
    await passOn({ stream: 'stdout', bytes: Buffer.from(end.stdout) });
    await passOn({ stream: 'stderr', bytes: Buffer.from(end.stderr) });
  }
  const sentence = howItEnded(end);
  if (sentence !== undefined) process.stderr.write(`glovebox: ${sentence}\n`);
}

/** What is to say of an end that its status alone does not tell; undefined where there is nothing. */
function howItEnded(end: Ending): string | undefined {
  switch (end.outcome) {
    case 'timed_out':
      return `timed out after ${end.timeoutSec} s. A larger limit: --timeout`;
    case 'out_of_memory':
      return `out of memory: the limit is ${end.memoryMb} MB. A larger limit: --memory-mb`;
    case 'killed':
      return end.killedBy === undefined
        ? `killed by signal ${end.signal}`
        : `killed by its limit: ${end.killedBy}`;
    case 'cancelled':
      return 'cancelled';
    default:
      return undefined;
  }
}
