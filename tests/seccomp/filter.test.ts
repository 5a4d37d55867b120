import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { arch } from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/runtimes/host/executables.ts';
import { seccompFilter } from '../../src/runtimes/host/seccomp/filter.ts';
import { SYSTEM_VIEW } from '../support/systemView.ts';
import {
  ALLOWED_PROBES,
  type Answers,
  answersTo,
  INT_80,
  PRIVILEGED_PROBES,
  PROBES,
  type Probe,
  refusals,
  SYSCALL,
  same,
} from './probes.ts';

const BWRAP = await findExecutable('bwrap');
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The system's programs, a /tmp to write to, and these programs even when the checkout lies in /tmp. */
const FILES = [
  ...[...SYSTEM_VIEW, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
  ...['--ro-bind', file('.'), file('.')],
];
/** The same line with the filter and without it, so that nothing else can be the reason for a difference. */
const CONFINED = [...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'], ...FILES];
/** All capabilities of the machine's root, for calls that fail with EPERM for everybody else. */
const PRIVILEGED = [
  ...[
    '--unshare-pid',
    '--unshare-net',
    '--unshare-uts',
    '--unshare-ipc',
    '--die-with-parent',
    '--new-session',
  ],
  ...FILES,
];

interface Outcome {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function bwrap(
  options: readonly string[],
  command: readonly string[],
  filter?: Uint8Array,
): Promise<Outcome> {
  const seccomp = filter === undefined ? [] : ['--seccomp', '3'];
  const child = spawn(BWRAP ?? 'missing', [...options, ...seccomp, ...command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  (child.stdio[3] as Writable).end(filter);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
  ]);
  const [exit] = (await exited) as [number | null];
  return { exit, stdout, stderr };
}

function bubblewrapProblem(): string | undefined {
  if (BWRAP === undefined) return 'bubblewrap is not installed';
  const { status, stderr } = spawnSync(BWRAP, [...CONFINED, 'true'], { encoding: 'utf8' });
  if (status !== 0) return `bubblewrap does not work here: ${stderr.trim()}`;
  return seccompFilter(arch) === undefined ? `there is no filter for ${arch}` : undefined;
}

const answers = (
  options: readonly string[],
  probes: readonly Probe[],
  filter?: Uint8Array,
): Promise<Answers> => answersTo(probes, (calls) => runProbe(options, calls, filter));

async function runProbe(
  options: readonly string[],
  calls: readonly unknown[],
  filter?: Uint8Array,
): Promise<readonly string[]> {
  const { exit, stdout, stderr } = await bwrap(
    options,
    [PYTHON, '-I', file('probe.py'), JSON.stringify(calls)],
    filter,
  );
  if (exit !== 0) throw new Error(`The probe ended with ${exit}: ${stderr}`);
  return JSON.parse(stdout) as string[];
}

const problem = bubblewrapProblem();
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('bubblewrap');
const asRoot = process.getuid?.() === 0;
const reason = problem === undefined || required ? '' : ` (skipped: ${problem})`;

describe.skipIf(reason !== '')(`the filter under bubblewrap${reason}`, () => {
  const filter = seccompFilter(arch);

  beforeAll(() => {
    if (problem !== undefined) throw new Error(`bubblewrap is required, but ${problem}.`);
  });

  it('is in force: the kernel says so of the program', async () => {
    const command = ['grep', '^Seccomp:', '/proc/self/status'];
    expect((await bwrap(CONFINED, command, filter)).stdout).toBe('Seccomp:\t2\n');
    expect((await bwrap(CONFINED, command)).stdout).toBe('Seccomp:\t0\n');
  });

  it('refuses calls that the kernel answers otherwise without it', async () => {
    const refused = await answers(CONFINED, PROBES, filter);
    expect(refused).toEqual(refusals(PROBES));
    expect(same(refused, await answers(CONFINED, PROBES))).toEqual([]);
  });

  it.skipIf(!asRoot)(
    `refuses calls that the kernel would answer to root${asRoot ? '' : ' (skipped: the control needs root)'}`,
    async () => {
      const refused = await answers(PRIVILEGED, PRIVILEGED_PROBES, filter);
      expect(refused).toEqual(refusals(PRIVILEGED_PROBES));
      expect(same(refused, await answers(PRIVILEGED, PRIVILEGED_PROBES))).toEqual([]);
    },
  );

  it('lets their harmless neighbours through', async () => {
    const allowed = await answers(CONFINED, ALLOWED_PROBES, filter);
    expect(new Set(Object.values(allowed))).toEqual(new Set(['ok']));
  });

  it.skipIf(arch !== 'x64')('kills a 64-bit program that makes a 32-bit call (int 0x80)', async (context) => {
    const [control] = await runProbe(CONFINED, [INT_80]);
    if (control !== 'ok') context.skip(`this kernel has no 32-bit calls: ${control}`);
    expect(await runProbe(CONFINED, [INT_80, SYSCALL], filter)).toEqual(['SIGSYS', 'ok']);
  });

  it.each([
    ['Python', [PYTHON, '-I', file('ordinary.py')], 16],
    ['Node', [process.execPath, fileURLToPath(new URL('./ordinary.mjs', import.meta.url))], 8],
    ['bash', ['bash', file('ordinary.sh')], 12],
  ])('lets ordinary programs in %s work', async (_, command, parts) => {
    const { exit, stdout, stderr } = await bwrap(CONFINED, command, filter);
    const lines = stdout.trim().split('\n');
    expect({ exit, stderr, failed: lines.filter((line) => !line.endsWith(' works')) }).toEqual({
      exit: 0,
      stderr: '',
      failed: [],
    });
    expect(lines).toHaveLength(parts);
  });
});
