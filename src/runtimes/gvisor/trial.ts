/** One sandbox that is made to see that it holds, before any other is. */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { text } from 'node:stream/consumers';
import { isSandboxError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import { LOOK_POLICY, type Look, lookFrom, parseLook } from '../host/look.ts';
import { trialSpec } from '../host/trialSpec.ts';
import type { Guest } from '../runtime.ts';
import { createGuest, type SandboxParts } from './create.ts';

/** What the program of the trial must find about itself. */
const TRIAL_FACTS = [/^Uid:(\t1000){4}$/m, /^Seccomp:\t2$/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m];

/** A platform that does not work may hang for good instead of saying so. */
const TRIAL_TIMEOUT_MS = 20_000;

/** What is the same for every sandbox of one runtime. */
export type TrialParts = Omit<SandboxParts, 'spec' | 'interpreters'>;

/** Makes one sandbox by the very code that makes the real ones; resolves to what is wrong with it. */
export async function tryOnce(parts: TrialParts): Promise<string | undefined> {
  try {
    return await inTrial(parts, undefined, runTrial);
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return error.message;
  }
}

async function inTrial<T>(
  parts: TrialParts,
  policy: Policy | undefined,
  use: (guest: Guest) => Promise<T>,
): Promise<T> {
  const guest = await createGuest({ ...parts, spec: trialSpec(policy), interpreters: new Map() });
  try {
    return await use(guest);
  } finally {
    await guest.destroy();
  }
}

async function runTrial(guest: Guest): Promise<string | undefined> {
  const trial = await guest.spawn({
    argv: ['/bin/sh', '-c', 'cat /proc/version /proc/self/status; exit'],
    env: guest.environment,
  });
  const deadline = setTimeout(() => trial.kill('SIGKILL'), TRIAL_TIMEOUT_MS);
  try {
    const [seen, said, { code }] = await Promise.all([text(trial.stdout), text(trial.stderr), trial.exit]);
    if (code !== 0) return `A trial sandbox failed: ${said.trim() || `it ended with ${code}`}`;
    if (seen.startsWith(readFileSync('/proc/version', 'utf8'))) {
      return "A trial sandbox was not held: its kernel is the host's.";
    }
    const missing = TRIAL_FACTS.find((fact) => !fact.test(seen));
    return missing && `A trial sandbox was not held: ${missing.source} is not so inside.`;
  } finally {
    clearTimeout(deadline);
  }
}

/** What a look inside a given root found, and what it printed; or what is wrong with a sandbox of it. */
export type Looked = { readonly look: Look; readonly said: string } | { readonly problem: string };

/** The same trial in a given root, which says besides which interpreters it has. */
export async function lookInto(parts: TrialParts): Promise<Looked> {
  try {
    const { said, complained, code } = await inTrial(parts, LOOK_POLICY, lookFrom);
    const look = parseLook(said);
    if (look === undefined || look.facts.size === 0) {
      return { problem: `a look inside ended with ${code}: ${complained || 'nothing was said'}` };
    }
    const wrong = notHeld(look.facts, release());
    return wrong === undefined ? { look, said } : { problem: `a trial sandbox was not held: ${wrong}` };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { problem: error.message };
  }
}

/** What a program in a sandbox must not find about itself; undefined when it is held. Pure. */
export function notHeld(facts: ReadonlyMap<string, string>, kernelOfHost: string): string | undefined {
  if (facts.get('kernel') === kernelOfHost) return "its kernel is the host's.";
  const status = [...facts].map(([name, value]) => `${name}:\t${value}`).join('\n');
  const missing = TRIAL_FACTS.find((fact) => !fact.test(status));
  return missing && `${missing.source} is not so inside.`;
}
