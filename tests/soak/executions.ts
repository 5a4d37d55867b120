/** Two hundred executions of every kind, each with what it must come to. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecuteOptions, ExecutionResult, LanguageName, Outcome } from '../../src/index.ts';
import { languageOf, PARITY_PROGRAMS, type ParityProgram, readProgram } from '../programs/parity/programs.ts';
import type { Target } from '../support/targets.ts';

export interface Execution {
  readonly what: string;
  readonly code: Uint8Array;
  readonly options: ExecuteOptions;
  /** When it is cancelled: milliseconds after the call, 0 before it. */
  readonly cancelAfterMs?: number;
  readonly expected: End;
}

export interface End {
  readonly outcome: Outcome;
  readonly exitCode: number;
}

const CANCELLED = 20;
const TIMED_OUT = 20;
const ALL = 200;

/** What the rest is made of, in turn: ends of every kind, floods, children that stay, files, full disks and memories. */
const MIXED = [
  ...['raises.py', 'aborts.py', 'exits-at-once.py', 'has-a-syntax-error.py', 'exits-with-its-argument.sh'],
  ...['signals-itself.py', 'signals-itself.sh', 'overflows-its-stack.py', 'takes-too-much-memory.py'],
  ...['floods-both.py', 'floods-stdout.sh', 'prints-one-endless-line.py', 'closes-its-output.py'],
  ...['leaves-an-orphan.py', 'leaves-a-child-that-keeps-its-output.py', 'adopts-nobody.py'],
  ...['leaves-a-child-that-keeps-its-output.sh', 'waits-for-children.py', 'runs-programs.py'],
  ...['turns-files-around.py', 'fills-the-disk.py', 'reads-all-of-its-input.py', 'ignores-its-input.py'],
  ...['runs-threads.py', 'becomes-another-program.py', 'throws.mjs', 'runs-programs.mjs'],
];

/** As far as this target can run them, in an order that mixes them. */
export function planExecutions(target: Target, languages: ReadonlyMap<LanguageName, string>): Execution[] {
  const mixed = MIXED.flatMap((file) => PARITY_PROGRAMS.filter((program) => program.file === file)).filter(
    (program) => canRun(target, program) && languages.has(languageOf(program)),
  );
  const cancelled = Array.from({ length: CANCELLED }, (_, index) => cancelledAfter(index * 40));
  const timedOut = Array.from({ length: TIMED_OUT }, (_, index) => endless(target, index));
  const others = Array.from({ length: ALL - CANCELLED - TIMED_OUT }, (_, index) =>
    asInParity(mixed[index % mixed.length] as ParityProgram),
  );
  return shuffled([...cancelled, ...timedOut, ...others]);
}

/** Runs it and tells how it ended. */
export async function runExecution(
  { code, options, cancelAfterMs }: Execution,
  execute: (code: Uint8Array, options: ExecuteOptions) => Promise<ExecutionResult>,
): Promise<End> {
  const signal =
    cancelAfterMs === undefined
      ? undefined
      : cancelAfterMs === 0
        ? AbortSignal.abort()
        : AbortSignal.timeout(cancelAfterMs);
  const { outcome, exitCode } = await execute(code, {
    ...options,
    ...(signal === undefined ? {} : { signal }),
  });
  return { outcome, exitCode };
}

function canRun({ capabilities }: Target, { needsMemoryGroup, notPlain }: ParityProgram): boolean {
  if (needsMemoryGroup && ['rlimit', 'none'].includes(capabilities.limits.memoryMb)) return false;
  return notPlain === undefined || capabilities.isolation !== 'process';
}

function cancelledAfter(cancelAfterMs: number): Execution {
  return {
    what: `cancelled after ${cancelAfterMs} ms`,
    code: program('never-ends.py'),
    options: { timeout: 60 },
    cancelAfterMs,
    expected: { outcome: 'cancelled', exitCode: 130 },
  };
}

/** Every fourth one is a fork bomb, where something holds it. */
function endless({ capabilities }: Target, index: number): Execution {
  const bomb = index % 4 === 0 && capabilities.limits.processes !== 'none';
  const file = bomb ? 'forks-until-it-cannot.py' : 'never-ends.py';
  return {
    what: `${file} until its time is over`,
    code: program(file),
    options: { timeout: 0.2 + index * 0.02, ...(bomb ? { maxProcesses: 20 } : {}) },
    expected: { outcome: 'timed_out', exitCode: -1 },
  };
}

function asInParity(one: ParityProgram): Execution {
  const { file, about, source = (bytes) => bytes, options, expected } = one;
  return {
    what: `${file}${about === undefined ? '' : `: ${about}`}`,
    code: source(readProgram(file)),
    options: {
      language: languageOf(one),
      timeout: 60,
      ...(file.startsWith('takes-too-much') ? { memoryMb: 64 } : {}),
      ...(file.startsWith('fills-the-disk') ? { diskMb: 64 } : {}),
      ...options,
    },
    expected: { outcome: expected.outcome, exitCode: expected.exitCode },
  };
}

function program(file: string): Buffer {
  return readFileSync(join(import.meta.dirname, '../programs/soak', file));
}

/** The same order each time: every seventh, and so on through all of them (7 and 200 share no divisor). */
function shuffled(executions: readonly Execution[]): Execution[] {
  return executions.map((_, index) => executions[(index * 7) % executions.length] as Execution);
}
