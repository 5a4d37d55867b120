/** Which of the runtimes under test are here, and what is said about the others. */
import { describe, it } from 'vitest';
import { isSandboxError } from '../../src/errors.ts';
import type { Capabilities, Runtime } from '../../src/runtimes/runtime.ts';
import { RUNTIMES_UNDER_TEST, type RuntimeUnderTest } from './runtimes.ts';

export interface Target {
  readonly name: string;
  readonly runtime: Runtime;
  readonly capabilities: Capabilities;
  /** The same runtime anew, as after a start. */
  readonly loadAgain: () => Promise<Runtime>;
}

interface Missing {
  readonly name: string;
  readonly reason: string;
  readonly required: boolean;
}

const looked = await Promise.all(RUNTIMES_UNDER_TEST.map(look));

/** The runtimes that work here. */
export const TARGETS: readonly Target[] = looked.flatMap((found) => ('runtime' in found ? [found] : []));

const MISSING: readonly Missing[] = looked.flatMap((found) => ('reason' in found ? [found] : []));

/**
 * Names each runtime that is not here, with the reason, as a skipped block; it is a red one where
 * `REQUIRED_RUNTIMES` names the runtime. For every file of tests that runs on what there is.
 */
export function describeMissing(what: string): void {
  for (const { name, reason, required } of MISSING) {
    if (required) {
      describe(`${what}: ${name}`, () => {
        it('is here, since REQUIRED_RUNTIMES names it', () => {
          throw new Error(reason);
        });
      });
    } else {
      describe.skip(`${what}: ${name} (not here: ${reason})`, () => {
        it('is not tried', () => {});
      });
    }
  }
}

async function look(candidate: RuntimeUnderTest): Promise<Target | Missing> {
  const { name, requiredAs, isolation, load } = candidate;
  const required = (process.env['REQUIRED_RUNTIMES'] ?? '')
    .split(',')
    .map((wanted) => wanted.trim())
    .includes(requiredAs);
  try {
    const runtime = await load();
    const probe = await runtime.probe();
    if (!probe.available) return { name, reason: `${probe.reason} ${probe.fix}`, required };
    const { capabilities } = probe;
    if (capabilities.isolation !== isolation) {
      throw new Error(`"${name}" turned out to isolate by "${capabilities.isolation}", not "${isolation}".`);
    }
    return { name, runtime, capabilities, loadAgain: load };
  } catch (error) {
    if (!isSandboxError(error) || error.code !== 'RUNTIME_UNAVAILABLE') throw error;
    return { name, reason: error.message, required };
  }
}
