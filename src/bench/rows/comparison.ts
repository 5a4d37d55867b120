import { type KnownProgram, type OpenedSandbox, type SandboxWish, warmedBy } from '../openSandbox.ts';
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
  subject(bench: Bench): Promise<Subject>;
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
      const sandbox = await bench.open(wish);
      try {
        const cold = wish.warm ? await whyCold(sandbox, program) : undefined;
        return cold ?? (await measure(bench, { wish, sandbox, program, baseline, bare }));
      } finally {
        await sandbox.close();
      }
    },
  };
}

/** Why there is nothing warm to measure; undefined where there is. */
async function whyCold(sandbox: OpenedSandbox, program: KnownProgram): Promise<NotMeasured | undefined> {
  // The first one may be what the making of others begins with.
  await sandbox.run(program);
  await sandbox.ready();
  if (warmedBy(await sandbox.run(program)) !== undefined) return undefined;
  return {
    status: 'not_warm',
    reason: 'It is not warmed here: no execution found an interpreter that waits.',
    fix: 'Run: glovebox doctor',
  };
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
  const warmed: (string | undefined)[] = [];
  const times = await timePairs({
    ...{ pairs, progress, signal },
    ready: () => sandbox.ready(),
    ours: async () => warmed.push(warmedBy(await sandbox.run(program))),
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
    ...(wish.warm ? { warm: { executions: pairs, by: [...new Set(counted)].filter(isTold) } } : {}),
  };
}

function isTold(by: string | undefined): by is string {
  return by !== undefined;
}
