/**
 * What a single cold run costs with engines, as ratios to starting Python without anything around it, beside the same
 * container started by the engine's own command line. Prints a table; `--json` prints JSON; `--rounds N` (default 20).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { getSandbox } from '../src/index.ts';
import { docker } from '../src/runtimes/docker/index.ts';
import { dockerSeccompProfile } from '../src/runtimes/docker/seccomp/profile.ts';
import { DEFAULT_DOCKER_SETTINGS } from '../src/runtimes/docker/settings.ts';
import { gvisor } from '../src/runtimes/gvisor/index.ts';
import { findInterpreter } from '../src/runtimes/host/interpreters.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';
import { bareSpawn, interleaved, type Row, type Subject } from './measure.ts';
import { writeBundle } from './runscBundle.ts';

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '20' } },
});
const rounds = Number(values.rounds);
const PROGRAM = 'print(1)';

process.env['SANDBOX_STORE_CODE'] = 'never';
const { SANDBOX_PYTHON } = process.env;
const python = await findInterpreter('python', SANDBOX_PYTHON ? { python: SANDBOX_PYTHON } : {});
const folder = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));

/** What an engine's own command line takes to do the same. */
function ownCommandLine(runtime: string): Subject {
  const profile = join(folder, 'seccomp.json');
  writeFileSync(profile, JSON.stringify(dockerSeccompProfile('x64')));
  const memory = `${512 + 256}m`;
  const place = 'rw,exec,nosuid,nodev,mode=1777,size=';
  return () =>
    bareSpawn('docker', [
      ...['run', '--rm', '--init', '--interactive=false', '--pull', 'never', '--runtime', runtime],
      ...['--network', 'none', '--read-only', '--user', '1610612736:1610612736', '--hostname', 'glovebox'],
      ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--security-opt', `seccomp=${profile}`],
      ...['--memory', memory, '--memory-swap', memory, '--pids-limit', '1088', '--cpus', '0.5'],
      ...['--ipc', 'private', '--cgroupns', 'private', '--log-driver', 'none', '--workdir', '/workspace'],
      ...[
        '--tmpfs',
        `/workspace:${place}192m`,
        '--tmpfs',
        `/tmp:${place}32m`,
        '--tmpfs',
        `/dev/shm:${place}32m`,
      ],
      ...['--ulimit', 'core=0', '--ulimit', 'nofile=1024', '--ulimit', 'cpu=64'],
      ...[DEFAULT_DOCKER_SETTINGS.image, 'python3', '-u', '-B', '-c', PROGRAM],
    ]);
}

/** What `runsc` takes by itself for a program in a bundle. */
function ownBundle(): Subject {
  const bundle = join(folder, 'bundle');
  writeBundle(bundle, ['/usr/bin/python3', '-u', '-B', '-c', PROGRAM]);
  let number = 0;
  return () => {
    number++;
    const state = ['--root', join(folder, 'state'), '--network=none'];
    return bareSpawn('runsc', [...state, 'run', '-bundle', bundle, `bench${process.pid}x${number}`]);
  };
}

function sandboxed(runtime: Runtime): Subject {
  const sandbox = getSandbox({ runtime });
  return async () => {
    const result = await sandbox.execute(PROGRAM, { memoryMb: 512, diskMb: 256, cpu: 0.5 });
    if (result.stdout !== '1\n') throw new Error(`${runtime.name}: ${JSON.stringify(result)}`);
  };
}

interface Pair {
  readonly name: string;
  readonly runtime: Runtime;
  readonly own: { readonly name: string; readonly start: Subject };
  /** The longest that a median may be, in milliseconds on a machine like CI's. */
  readonly atMostMs: number;
}

const pairs: Pair[] = [
  {
    name: 'docker',
    runtime: docker(),
    own: { name: 'docker run', start: ownCommandLine('runc') },
    atMostMs: 2000,
  },
  {
    name: 'docker with runsc',
    runtime: docker({ runtime: 'runsc24' }),
    own: { name: 'docker run --runtime runsc', start: ownCommandLine('runsc24') },
    atMostMs: 2000,
  },
];

if (process.getuid?.() === 0) {
  pairs.push({
    name: 'gvisor',
    runtime: gvisor({ interpreters: { python: '/usr/bin/python3' } }),
    own: { name: 'runsc run', start: ownBundle() },
    atMostMs: 1000,
  });
}

const BARE = 'bare python3 -c';

try {
  const subjects: Record<string, Subject> = { [BARE]: () => bareSpawn(python.path, ['-c', PROGRAM]) };
  const measured: Pair[] = [];
  for (const pair of pairs) {
    const probe = await pair.runtime.probe();
    if (!probe.available) {
      process.stderr.write(`${pair.name}: not measured. ${probe.reason}\n`);
      continue;
    }
    subjects[pair.own.name] = pair.own.start;
    subjects[pair.name] = sandboxed(pair.runtime);
    measured.push(pair);
  }
  const rows = await interleaved(rounds, BARE, subjects);
  if (values.json) process.stdout.write(`${JSON.stringify({ rounds, python, rows }, null, 2)}\n`);
  else {
    process.stdout.write(
      `${rounds} rounds, interleaved; ${python.path} ${python.version}, Node ${process.version}\n`,
    );
    for (const row of rows) process.stdout.write(`${line(row, rows, measured)}\n`);
  }
} finally {
  rmSync(folder, { recursive: true });
}

function line(
  { name, medianMs, p95Ms, ratio }: Row,
  rows: readonly Row[],
  measured: readonly Pair[],
): string {
  const pair = measured.find((candidate) => candidate.name === name);
  const own = rows.find((row) => row.name === pair?.own.name);
  const goal =
    pair === undefined || own === undefined
      ? ''
      : `  (${(medianMs / own.medianMs).toFixed(2)} x its own command line, at most 1.2: ${kept(medianMs <= 1.2 * own.medianMs)}; at most ${pair.atMostMs} ms: ${kept(medianMs <= pair.atMostMs)})`;
  return `${name.padEnd(28)} ${ratio.toFixed(1).padStart(5)} x   median ${medianMs.toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms${goal}`;
}

function kept(holds: boolean): string {
  return holds ? 'kept' : 'MISSED';
}
