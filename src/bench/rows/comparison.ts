import type { WarmedBy } from '../../runtimes/runtime.ts';
import type { KnownProgram, OpenedSandbox, SandboxWish } from '../openSandbox.ts';
import { compare, type Subject, timePairs } from '../pairs.ts';
import type { Bench, Measured, NotMeasured, Row } from '../row.ts';

/** Programs in sandboxes beside the same program without anything around it. */
export interface ComparisonRow extends Pick<Row, 'name' | 'what'> {
  readonly sandbox: SandboxWish;
  readonly program: KnownProgram;
  readonly baseline: Baseline;
}

export interface Baseline {
  readonly what: string;
  /** What has to be found first is found here, and not timed. */
  subject(bench: Bench): Promise<Subject | NotMeasured>;
}

/** A row in milliseconds, end to end through the public interface, each sandbox used once. */
export function comparison({ sandbox: wish, program, baseline, ...row }: ComparisonRow): Row {
  return {
    ...row,
    unit: 'ms',
    async measure(bench) {
      const missing = await bench.whyNot(wish.runtime);
      if (missing !== undefined) return missing;
      const bare = await baseline.subject(bench);
      if (typeof bare !== 'function') return bare;
      const sandbox = await bench.open(wish);
      try {
        const because = await sandbox.ready(program.language);
        if (because !== undefined) return notWarm(because);
        return await measure(bench, { wish, sandbox, program, baseline, bare });
      } finally {
        await sandbox.close();
      }
    },
  };
}

/** What is told of a row about what waits, where nothing does. */
export function notWarm(because: string): NotMeasured {
  return { status: 'not_warm', reason: `It is not warmed here. ${because}` };
}

interface Measuring {
  readonly wish: SandboxWish;
  readonly sandbox: OpenedSandbox;
  readonly program: KnownProgram;
  readonly baseline: Baseline;
  readonly bare: Subject;
}

async function measure(
  { pairs, progress, signal }: Bench,
  { wish, sandbox, program, baseline, bare }: Measuring,
): Promise<Measured | NotMeasured> {
  const warmed: (WarmedBy | undefined)[] = [];
  const times = await timePairs({
    ...{ pairs, progress, signal },
    ready: () => sandbox.ready(program.language),
    ours: async () => warmed.push((await sandbox.run(program)).meta.warm),
    baseline: bare,
  });
  const counted = warmed.slice(-pairs);
  const coldOnes = counted.filter((by) => by === undefined).length;
  if (wish.warm && coldOnes > 0) {
    return {
      status: 'not_warm',
      reason: `${pairs - coldOnes} of ${pairs} executions were warm: the others would be told as what they are not.`,
      fix: 'Measure again when the machine has less to do.',
    };
  }
  const { ours, ratio, ...compared } = compare(times);
  return {
    status: 'measured',
    ours,
    baseline: { ...compared.baseline, what: baseline.what },
    ratio,
    ...(wish.warm
      ? { warm: { executions: pairs, by: [...new Set(counted)].filter((by) => by !== undefined) } }
      : {}),
  };
}
