import { basename } from 'node:path';
import { arch, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { dockerSeccompProfile } from '../../src/runtimes/docker/seccomp/profile.ts';
import { type ContainerOptions, engineProblem, type Outcome, runContainer } from './engine.ts';
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

const IMAGE = process.env['GLOVEBOX_TEST_IMAGE'] ?? 'glovebox-sandbox:latest';
const PROGRAMS = [fileURLToPath(new URL('.', import.meta.url)), '/programs'] as const;

type Confinement = Pick<ContainerOptions, 'seccomp' | 'privileged'>;

const PROFILE = JSON.stringify(dockerSeccompProfile(arch === 'arm64' ? 'arm64' : 'x64'));
const CONFINED: Confinement = { seccomp: PROFILE };
const OPEN: Confinement = { seccomp: 'unconfined' };
const PRIVILEGED = { privileged: true };

function run(
  confinement: Confinement,
  command: readonly string[],
  { binds = [], environment = [] }: Pick<ContainerOptions, 'binds' | 'environment'> = {},
): Promise<Outcome> {
  return runContainer({ ...confinement, image: IMAGE, command, binds: [PROGRAMS, ...binds], environment });
}

async function runProbe(confinement: Confinement, calls: readonly unknown[]): Promise<readonly string[]> {
  const command = ['python3', '-I', '/programs/probe.py', JSON.stringify(calls)];
  const { exit, stdout, stderr } = await run(confinement, command);
  if (exit !== 0) throw new Error(`The probe ended with ${exit}: ${stderr}`);
  return JSON.parse(stdout) as string[];
}

const answers = (confinement: Confinement, probes: readonly Probe[]): Promise<Answers> =>
  answersTo(probes, (calls) => runProbe(confinement, calls));

/** Younger than some versions of libseccomp, so that runc says of them that they do not exist. */
const YOUNG = ['statmount', 'listmount', 'lsm_', 'open_tree_attr', 'listns', 'set_mempolicy_home_node'];

/** The same answers, with the one that they have where the engine knows the young ones. */
const asKnown = (given: Answers): Answers =>
  Object.fromEntries(
    Object.entries(given).map(([call, answer]) => [
      call,
      answer === 'ENOSYS' && YOUNG.some((name) => call.startsWith(name)) ? 'EPERM' : answer,
    ]),
  );

interface Numbered {
  readonly name: string;
  readonly number: { readonly x64: number; readonly arm64: number };
  readonly arguments: readonly number[];
}

/** What the floor lets through, or does not number; wrong arguments, as for the others. */
const MISSING: readonly Numbered[] = [
  { name: 'clone3', number: { x64: 435, arm64: 435 }, arguments: [0, 0] },
  { name: 'inotify_init1', number: { x64: 294, arm64: 26 }, arguments: [0] },
  { name: 'io_setup', number: { x64: 206, arm64: 0 }, arguments: [0, 1] },
  { name: 'remap_file_pages', number: { x64: 216, arm64: 234 }, arguments: [1, 0, 0, 0, 0] },
  { name: 'get_robust_list', number: { x64: 274, arm64: 100 }, arguments: [0, 1, 1] },
  { name: 'process_mrelease', number: { x64: 448, arm64: 448 }, arguments: [-1, 0] },
];

const X32 = 0x4000_0000;
const GETPID = 39;

/** Where the image has no Node: the host's, with the libraries that a small image lacks. */
async function nodeInside(): Promise<{
  command: string;
  binds: (readonly [string, string])[];
  environment: string[];
}> {
  const { exit } = await run(OPEN, ['sh', '-c', 'node --version']);
  if (exit === 0) return { command: 'node', binds: [], environment: [] };
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  const libraries = sharedObjects.filter((path) => /^lib(stdc\+\+|gcc_s|atomic)\.so/.test(basename(path)));
  return {
    command: `/host/${basename(execPath)}`,
    binds: [execPath, ...libraries].map((path) => [path, `/host/${basename(path)}`] as const),
    environment: ['LD_LIBRARY_PATH=/host'],
  };
}

const problem =
  arch === 'x64' || arch === 'arm64' ? await engineProblem(IMAGE) : `there is no profile for ${arch}`;
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('docker');
const reason = problem === undefined || required ? '' : ` (skipped: ${problem})`;

describe.skipIf(reason !== '')(`the profile in a container${reason}`, () => {
  beforeAll(() => {
    if (problem !== undefined) throw new Error(`docker is required, but ${problem}.`);
  });

  it('is in force: the kernel says so of the program', async () => {
    const command = ['grep', '^Seccomp:', '/proc/self/status'];
    expect((await run(CONFINED, command)).stdout).toBe('Seccomp:\t2\n');
    expect((await run(OPEN, command)).stdout).toBe('Seccomp:\t0\n');
  });

  it.each([
    ['to anybody', PROBES, {}],
    ['to root', PRIVILEGED_PROBES, PRIVILEGED],
  ])('refuses calls that the kernel would answer %s', async (_, probes, who) => {
    const refused = await answers({ ...CONFINED, ...who }, probes);
    expect(asKnown(refused)).toEqual(refusals(probes));
    const open = await answers({ ...OPEN, ...who }, probes);
    const unknownToTheKernel = Object.keys(open).filter((call) => open[call] === 'ENOSYS');
    expect(same(refused, open).filter((call) => !unknownToTheKernel.includes(call))).toEqual([]);
  });

  it('says of calls with an older way that they do not exist', async () => {
    const calls = MISSING.map((each) => [each.number[arch as 'x64' | 'arm64'], each.arguments]);
    const byName = (given: readonly string[]): Answers =>
      Object.fromEntries(MISSING.map(({ name }, index) => [name, given[index] ?? 'no answer']));
    const refused = byName(await runProbe(CONFINED, calls));
    expect(refused).toEqual(Object.fromEntries(MISSING.map(({ name }) => [name, 'ENOSYS'])));
    expect(same(refused, byName(await runProbe(OPEN, calls)))).toEqual([]);
  });

  it('lets their harmless neighbours through', async () => {
    const allowed = await answers(CONFINED, ALLOWED_PROBES);
    expect(new Set(Object.values(allowed))).toEqual(new Set(['ok']));
  });

  it.skipIf(arch !== 'x64')('kills a 64-bit program that makes a 32-bit call (int 0x80)', async (context) => {
    const [control] = await runProbe(OPEN, [INT_80]);
    if (control !== 'ok') context.skip(`this kernel has no 32-bit calls: ${control}`);
    expect(await runProbe(CONFINED, [INT_80, SYSCALL])).toEqual(['SIGSYS', 'ok']);
  });

  it.skipIf(arch !== 'x64')('kills a 64-bit program that makes an x32 call', async () => {
    const calls = [
      [X32 + GETPID, []],
      [GETPID, []],
    ];
    // A kernel without x32 takes the number for one of its own, and has no such call.
    expect(await runProbe(OPEN, calls)).toEqual([expect.stringMatching(/^(ok|ENOSYS)$/), 'ok']);
    expect(await runProbe(CONFINED, calls)).toEqual(['SIGSYS', 'ok']);
  });

  it.each([
    ['Python', async () => ({ command: ['python3', '/programs/ordinary.py'] }), 16],
    [
      'Node',
      async () => {
        const { command, ...rest } = await nodeInside();
        return { command: [command, '/programs/ordinary.mjs'], ...rest };
      },
      8,
    ],
    ['bash', async () => ({ command: ['bash', '/programs/ordinary.sh'] }), 12],
  ])('lets ordinary programs in %s work', async (_, prepare, parts) => {
    const { command, ...options } = await prepare();
    const { exit, stdout, stderr } = await run(CONFINED, command, options);
    const lines = stdout.trim().split('\n');
    expect({ exit, stderr, failed: lines.filter((line) => !line.endsWith(' works')) }).toEqual({
      exit: 0,
      stderr: '',
      failed: [],
    });
    expect(lines).toHaveLength(parts);
  });
});
