import { isSandboxError } from '../errors.ts';
import type { Probe, Runtime } from './runtime.ts';
import { asSentence } from './sentence.ts';

/** Enough for a slow engine that starts a container. */
export const PROBE_DEADLINE_MS = 20_000;

/** What a probe told; `hung` when it did not end by itself, so that something of it may still go on. */
export type TimedProbe = Probe & { readonly hung?: true };

/** Asks a runtime whether it works here. Always answers, by the deadline at the latest, and never throws. */
export async function probeWithin(
  runtime: Pick<Runtime, 'name' | 'probe'>,
  deadlineMs: number = PROBE_DEADLINE_MS,
): Promise<TimedProbe> {
  const giveUp = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<TimedProbe>((resolve) => {
    timer = setTimeout(() => {
      resolve({
        available: false,
        reason: `It has not answered within ${deadlineMs / 1000} s.`,
        fix: `See what keeps it: its own command line, a daemon that hangs, a platform that this machine lacks.`,
        hung: true,
      });
      giveUp.abort();
    }, deadlineMs);
  });
  try {
    return await Promise.race([asked(runtime, giveUp.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function asked(runtime: Pick<Runtime, 'name' | 'probe'>, signal: AbortSignal): Promise<Probe> {
  try {
    return await runtime.probe(signal);
  } catch (error) {
    // One runtime that cannot even say why it does not work must not hide the others.
    const fix = isSandboxError(error) ? error.hint : `Run: glovebox doctor --verify ${runtime.name}`;
    return {
      available: false,
      reason: asSentence(`It could not be asked: ${(error as Error).message}`),
      fix,
    };
  }
}
