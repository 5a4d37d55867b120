/**
 * What 100 MB take into a live sandbox and out of it, as ratios to `tar` over a pipe on this machine, which packs and
 * unpacks the same between a folder on disk and one where the workspace is: on disk or in memory. Pairs in
 * turn, each with taking away what the one before left. `--json` prints JSON; `--rounds N` (7).
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSandbox, type LiveSandbox } from '../src/index.ts';
import { DEFAULT_DOCKER_SETTINGS } from '../src/runtimes/docker/settings.ts';
import { loadRuntime, type RuntimeOptions } from '../src/runtimes/registry.ts';
import { bareSpawn, interleaved, type Subject } from './measure.ts';

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '7' } },
});
const rounds = Number(values.rounds);

const { SANDBOX_PYTHON } = process.env;
const interpreters = SANDBOX_PYTHON === undefined ? {} : { python: SANDBOX_PYTHON };

const RUNTIMES: readonly (readonly [name: string, runtime: string, options: RuntimeOptions])[] = [
  ['local, a plain process', 'local', { interpreters, localIsolation: 'none' }],
  ['bubblewrap', 'bubblewrap', { interpreters }],
  ['docker', 'docker', { docker: DEFAULT_DOCKER_SETTINGS }],
  ['gvisor', 'gvisor', { interpreters }],
];

/** The same hundred megabytes in one file, and in many. */
const SHAPES = [
  { name: 'one file', files: 1 },
  { name: '2,000 files', files: 2_000 },
] as const;

const TOTAL_BYTES = 100_000_000;

const onDisk = mkdtempSync(join(tmpdir(), 'glovebox-bench-'));
const inMemory = existsSync('/dev/shm') ? mkdtempSync('/dev/shm/glovebox-bench-') : onDisk;

interface Result {
  readonly runtime: string;
  readonly shape: string;
  readonly way: 'up' | 'down';
  readonly n: number;
  readonly medianMs: number;
  readonly tarMs: number;
  readonly ratio: number;
}

const results: Result[] = [];
try {
  for (const { name: shape, files } of SHAPES) {
    const source = join(onDisk, String(files));
    fill(source, files);
    for (const [name, runtimeName, options] of RUNTIMES) {
      const runtime = await loadRuntime(runtimeName, options);
      const probe = await runtime.probe();
      if (!probe.available) {
        process.stderr.write(`${name}: not measured. ${probe.reason}\n`);
        continue;
      }
      await using sandbox = await createSandbox({ runtime, cwd: onDisk });
      for (const [way, [own, ours]] of Object.entries(subjectsFor(sandbox, source))) {
        const rows = await interleaved(rounds, 'tar', { tar: own, ours });
        const [tar, mine] = rows;
        if (tar === undefined || mine === undefined) throw new Error('Nothing was measured.');
        const row = { n: rounds, medianMs: mine.medianMs, tarMs: tar.medianMs, ratio: mine.ratio };
        const result: Result = { runtime: name, shape, way: way as 'up' | 'down', ...row };
        results.push(result);
        if (!values.json) process.stdout.write(`${line(result)}\n`);
      }
    }
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ node: process.version, results }, null, 2)}\n`);
} finally {
  rmSync(onDisk, { recursive: true, force: true });
  rmSync(inMemory, { recursive: true, force: true });
}

/** Both ways: what `tar` does over a pipe, and what we do. Each begins with what the one before left, away. */
function subjectsFor(sandbox: LiveSandbox, source: string): Record<'up' | 'down', [Subject, Subject]> {
  // A plain process has its workspace on disk, all others in memory.
  const there = join(sandbox.enforced.isolation === 'process' ? onDisk : inMemory, 'there');
  const back = join(onDisk, 'back');
  return {
    up: [
      async () => {
        rmSync(there, { recursive: true, force: true });
        await tarOver(source, there);
      },
      async () => {
        await sandbox.removeFile('up', { recursive: true }).catch(() => {});
        await sandbox.uploadFrom(source, 'up');
      },
    ],
    down: [
      async () => {
        rmSync(back, { recursive: true, force: true });
        await tarOver(there, back);
      },
      async () => {
        rmSync(back, { recursive: true, force: true });
        await sandbox.downloadTo('up', back);
      },
    ],
  };
}

async function tarOver(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  await bareSpawn('sh', ['-c', 'tar -c -C "$1" . | tar -x -C "$2"', 'sh', from, to]);
}

function fill(folder: string, files: number): void {
  const bytes = randomBytes(TOTAL_BYTES / files);
  for (let number = 0; number < files; number++) {
    const place = join(folder, String(number % 100));
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, String(number)), bytes);
  }
}

function line({ runtime, shape, way, n, medianMs, tarMs, ratio }: Result): string {
  return `${runtime.padEnd(24)} ${shape.padEnd(14)} ${way.padEnd(5)} ${ratio.toFixed(2)} x tar   n ${n}, p50 ${medianMs.toFixed(0)} ms beside ${tarMs.toFixed(0)} ms`;
}
