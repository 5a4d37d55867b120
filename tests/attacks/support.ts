/** What the attack tests share: the runtimes under attack, and how to start a probe in one of them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll } from 'vitest';
import { createSandbox, type LiveSandbox } from '../../src/operations/liveSandbox.ts';
import type { ExecuteOptions, PolicyOptions } from '../../src/operations/options.ts';
import { isAtLeast } from '../../src/policy/isolation.ts';
import type { ExecutionResult } from '../../src/result/result.ts';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import { local } from '../../src/runtimes/local/index.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { eventually } from '../support/eventually.ts';
import { TARGETS, type Target } from '../support/targets.ts';
import { type HostProcess, processesWith, type Traces, tracesOf } from '../support/traces.ts';
import { WARM_TARGETS } from '../support/warmTargets.ts';
import { leaveOut } from './leftOut.ts';

leaveOut();

/**
 * The runtimes that must hold hostile code; none where this machine can make no isolation at all. Namespaces are the
 * same code under either name, and attacked under one: that both keep their promises, the contract's tests show. Behind
 * them the same with warm guests, without what `leftOut.ts` leaves out.
 */
export const HELD: readonly Target[] = [
  ...TARGETS.filter(
    ({ capabilities, name }) => capabilities.isolation !== 'process' && name !== 'local with namespaces',
  ),
  ...WARM_TARGETS,
];

/** Each program runs in a warm guest of its own; what it makes is not there for the next one. */
export function isWarm(target: Target): boolean {
  return WARM_TARGETS.some(({ name }) => name === target.name);
}

/** The runtime that holds nothing: the positive control of most attacks, and bound by the promises for all. */
export const PLAIN: Target = one(TARGETS.filter(({ capabilities }) => capabilities.isolation === 'process'));

export const ALL: readonly Target[] = [...HELD, PLAIN];

/**
 * The same without an engine's gVisor: it is a driver and a kernel that are both there without each other, so what
 * concerns only one of them is tried on those two. The contract holds it to all of it.
 */
export const OF_THEIR_OWN: readonly Target[] = ALL.filter(({ name }) => name !== 'docker with runsc');

/** The same code without cgroups, as for an ordinary user of a machine that delegates none. */
export const HELD_WITHOUT_CGROUPS: readonly Target[] = await ifAvailable('bubblewrap without cgroups', () =>
  bubblewrap({ cgroups: null }),
);

export const PLAIN_WITHOUT_CGROUPS: Target = one(
  await ifAvailable('a plain process without cgroups', () => local({ isolation: 'none', cgroups: null })),
);

/** Programs are processes of this host's kernel: it can look at them, and what they ask is asked of it. */
export function sharesTheKernel({ capabilities }: Target): boolean {
  return !isAtLeast(capabilities.isolation, 'kernel');
}

/** The sandbox holds nothing but what we put there, where an engine adds things of its own. */
export function isAllOurs({ capabilities }: Target): boolean {
  return capabilities.isolation === 'namespace';
}

/** An engine's gVisor: what stands between a program and the engine there is of the program's own user. */
export function endsItsRelays(target: Target): boolean {
  return !sharesTheKernel(target) && isByEngine(target);
}

/** Each program has a container of an engine's. */
export function isByEngine({ name }: Target): boolean {
  return name.startsWith('docker');
}

export const AS_ROOT = process.getuid?.() === 0;

/** A folder for artifacts and settings, so that neither those of this checkout nor of its user are touched. */
export const scratch = mkdtempSync(join(tmpdir(), 'attack-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

async function ifAvailable(name: string, make: () => Runtime): Promise<Target[]> {
  const runtime = make();
  const probe = await runtime.probe();
  if (!probe.available) return [];
  return [{ name, runtime, capabilities: probe.capabilities, loadAgain: async () => make() }];
}

function one(targets: readonly Target[]): Target {
  const [target] = targets;
  if (target === undefined) throw new Error('A plain process works everywhere.');
  return target;
}

/** A live sandbox in a target. */
export function open({ runtime }: Target, options: PolicyOptions = {}): Promise<LiveSandbox> {
  return createSandbox({ runtime, cwd: scratch, ...options });
}

/** One program in a sandbox of its own. */
export async function once(
  target: Target,
  code: string,
  options: ExecuteOptions = {},
): Promise<ExecutionResult> {
  const { memoryMb, diskMb, maxProcesses, cpu, network, requires, minIsolation, ...run } = options;
  const policy = { memoryMb, diskMb, maxProcesses, cpu, network, requires, minIsolation };
  const given = Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
  await using sandbox = await open(target, given);
  return await sandbox.execute(code, { timeout: 30, maxOutputKb: 1024, ...run });
}

/** What a probe printed as JSON on its last line; fails with everything that it printed otherwise. */
export function answer<T = Record<string, unknown>>(result: ExecutionResult): T {
  const last = result.stdout.trim().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(last) as T;
  } catch {
    throw new Error(
      `The probe did not answer: ${JSON.stringify({ ...result, meta: result.meta.signal }, null, 2)}`,
    );
  }
}

/** A hostile program, as its file in tests/programs/attacks has it. */
export function program(file: string): string {
  return readFileSync(join(import.meta.dirname, '../programs/attacks', file), 'utf8');
}

/** Python for probes: what an attempt gives (`ok`, or the name of the error), and system calls by number. */
export const PRELUDE = program('prelude.py');

/** Runs a probe that prints JSON, in Python. */
export async function probe<T = Record<string, unknown>>(
  sandbox: LiveSandbox,
  body: string,
  options: Parameters<LiveSandbox['execute']>[1] = {},
): Promise<T> {
  return answer<T>(
    await sandbox.execute(`${PRELUDE}\n${body}`, { timeout: 30, maxOutputKb: 1024, ...options }),
  );
}

/** What of ours exists on the host right now: a later look must find no more. */
export function traces(): Traces {
  return tracesOf(process.pid);
}

/**
 * Processes on the host that a program of this target left behind; to be asked when there is its result. What is left of a
 * warm one's tree is on its end then.
 */
export async function leftBy(target: Target, marker: string): Promise<HostProcess[]> {
  if (isWarm(target)) await eventually('its processes are gone', () => processesWith(marker).length === 0);
  return processesWith(marker);
}

/** Runs a program that says `ready` and then waits for its input to end (both are added where it does not); meanwhile `look` looks. */
export async function whileRunning(
  sandbox: LiveSandbox,
  code: string,
  look: (seen: string) => unknown,
  env: Record<string, string> = {},
): Promise<ExecutionResult> {
  const stdin = new PassThrough();
  let looked: Promise<unknown> | undefined;
  let seen = '';
  const running = sandbox.execute(
    code.includes("print('ready'")
      ? `${PRELUDE}\n${code}`
      : `${PRELUDE}\n${code}\nprint('ready', flush=True)\nsys.stdin.read()`,
    {
      timeout: 30,
      env,
      stdin,
      maxOutputKb: 1024,
      onOutput({ text }) {
        seen += text;
        if (!/^ready$/m.test(seen)) return;
        looked ??= Promise.resolve()
          .then(() => look(seen))
          .finally(() => stdin.end());
        looked.catch(() => {});
      },
    },
  );
  const result = await running;
  if (looked === undefined) throw new Error(`It was never ready: ${result.stderr}`);
  await looked;
  return result;
}
