/** A process that is killed in the middle of twenty executions leaves nothing that the next start does not remove. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { getSandbox } from '../../src/index.ts';
import { ownedName } from '../../src/runtimes/host/owner.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { eventually } from '../support/eventually.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';
import {
  cgroupFolders,
  type HostProcess,
  NO_TRACES,
  processesWith,
  type Traces,
  tracesOf,
} from '../support/traces.ts';

const TIMEOUT_MS = 300_000;

const scratch = mkdtempSync(join(tmpdir(), 'killed-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const WAYS: readonly [string, (runtime: Runtime) => Promise<unknown>][] = [
  ['a sweep', async (runtime) => runtime.sweep?.()],
  ['the next execution', (runtime) => getSandbox({ runtime, cwd: scratch }).execute('print(1)')],
];

describe.each(TARGETS)('killed in the middle of twenty executions: $name', (target) => {
  it.each(WAYS)(
    'leaves nothing after %s, which takes nothing else',
    async (_, clear) => {
      const marker = `killed-${randomUUID()}`;
      const victim = await startTwenty(target, marker);
      process.kill(victim.pid, 'SIGKILL');
      await victim.ended;
      const decoyId = randomUUID().replaceAll('-', '');
      const left = async (): Promise<Left> => ({
        ...withoutDecoys(tracesOf(victim.pid), decoyId),
        marked: processesWith(marker).filter(({ pid }) => pid !== victim.guardianPid),
        orphans: await victim.orphans(),
      });
      const decoys = makeDecoys(target, victim.pid, decoyId);
      if (leavesTraces(target)) expect(await left()).not.toEqual(NOTHING);
      await clear(await target.loadAgain());
      await eventually('its orphans are gone', async () => (await victim.orphans()).length === 0);
      expect(await left()).toEqual(NOTHING);
      expect(decoys.filter(({ isThere }) => !isThere()).map(({ what }) => what)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describeMissing('killed in the middle of twenty executions');

interface Left extends Traces {
  /** Processes that know the marker of these executions. */
  readonly marked: readonly HostProcess[];
  /** Processes that descend from the killed one, whatever they call themselves. */
  readonly orphans: readonly string[];
}

const NOTHING: Left = { ...NO_TRACES, marked: [], orphans: [] };

/** Namespaces without cgroups end with whoever made them; all else needs somebody who clears up. */
function leavesTraces({ capabilities }: Target): boolean {
  return capabilities.isolation !== 'namespace' || capabilities.limits.memoryMb === 'cgroup';
}

/** Some decoys bear the dead process's own name, and it takes a second look to see that they are not its. */
function withoutDecoys(traces: Traces, decoyId: string): Traces {
  const others = (list: readonly string[]) => list.filter((name) => !name.includes(decoyId));
  return { ...traces, folders: others(traces.folders), containers: others(traces.containers) };
}

interface Victim {
  readonly pid: number;
  readonly guardianPid: number | undefined;
  readonly ended: Promise<void>;
  /** Who is left of all that it and its children started. */
  orphans(): Promise<string[]>;
}

async function startTwenty({ name }: Target, marker: string): Promise<Victim> {
  const programs = join(import.meta.dirname, 'programs');
  const twenty = fileURLToPath(import.meta.resolve('./programs/runs-twenty.ts'));
  const script = [twenty, name, marker, scratch];
  const command = [process.execPath, '--import', import.meta.resolve('tsx'), ...script];
  const guardian = spawn('python3', [join(programs, 'adopts-orphans.py'), ...command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => endGuardian(guardian));
  const lines = createInterface({ input: guardian.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('Whoever was to tell what is left has ended.');
    return value;
  };
  const pid = Number(await next());
  const said = await next();
  if (said !== 'all are running') throw new Error(`The executions did not start: ${said}`);
  return {
    pid,
    guardianPid: guardian.pid,
    ended: next().then((word) => {
      if (word !== 'ended') throw new Error(`It said ${word}.`);
    }),
    async orphans() {
      guardian.stdin.write('\n');
      return JSON.parse(await next());
    },
  };
}

/** At the end of its input it ends whom it adopted, and itself. */
async function endGuardian(guardian: ChildProcess): Promise<void> {
  guardian.stdin?.end();
  if (guardian.exitCode === null && guardian.signalCode === null) {
    await new Promise((resolve) => guardian.once('exit', resolve));
  }
}

interface Decoy {
  readonly what: string;
  isThere(): boolean;
}

/** What only looks as if the dead process had left it. */
function makeDecoys(target: Target, deadPid: number, id: string): Decoy[] {
  const [, namespace = '0', , start = '0'] = ownedName('x').split('-');
  const folders = [
    // Of a process that runs: this one.
    ownedName(id),
    `glovebox-${id}`,
    // Of another pid namespace, where that pid may well be alive.
    `glovebox-1-${deadPid}-${start}-${id}`,
    // Not what a name of ours looks like.
    `glovebox-${namespace}-${deadPid}-${start}-${id}-copy`,
  ];
  return [
    ...folders.map((name) => decoyFolder(join(tmpdir(), name))),
    ...(process.getuid?.() === 0
      ? [decoyOfAnother(join(tmpdir(), `glovebox-${namespace}-${deadPid}-1-${id}`))]
      : []),
    ...writableGroups().flatMap((group) => folders.map((name) => decoyFolder(join(group, name)))),
    ...(target.runtime.name === 'docker' ? decoyContainers(deadPid, namespace, start, id) : []),
  ];
}

function decoyFolder(path: string): Decoy {
  mkdirSync(path);
  onTestFinished(() => {
    if (existsSync(path)) rmdirSync(path);
  });
  return { what: path, isThere: () => existsSync(path) };
}

/** In a folder that everybody may write to, a name proves nothing. */
function decoyOfAnother(path: string): Decoy {
  const decoy = decoyFolder(path);
  chownSync(path, 65534, 65534);
  return decoy;
}

/** Our own groups, where sandboxes' groups are made. */
function writableGroups(): string[] {
  return cgroupFolders().filter((folder) => {
    const probe = join(folder, `decoy${process.pid}`);
    try {
      mkdirSync(probe);
      rmdirSync(probe);
      return /\/(memory|pids)(\/|$)/.test(folder);
    } catch {
      // Not ours to write.
      return false;
    }
  });
}

/** One without the label of ours, and one that another machine with the same engine has. */
function decoyContainers(deadPid: number, namespace: string, start: string, id: string): Decoy[] {
  const owner = `glovebox-${namespace}-${deadPid}-${start}-${id}`;
  return [
    ['--name', `${owner}a`, '--label', 'app=glovebox'],
    [
      '--name',
      `${owner}b`,
      '--label',
      `io.glovebox.owner=${owner}`,
      '--label',
      'io.glovebox.machine=another',
    ],
  ].map((labels) => {
    const image = process.env['DOCKER_IMAGE'] ?? 'glovebox-sandbox:latest';
    const container = docker('create', ...labels, image, 'true').trim();
    onTestFinished(() => void docker('rm', '--force', container));
    return {
      what: `container ${labels.join(' ')}`,
      isThere: () => docker('ps', '--all', '--quiet', '--no-trunc').includes(container),
    };
  });
}

function docker(...args: readonly string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
