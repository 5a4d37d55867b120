import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, platform, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type LoadedSettings, loadSettings } from '../config/index.ts';
import { isSandboxError } from '../errors.ts';
import { runtimeOptions } from '../operations/context.ts';
import { InterpreterFinder } from '../runtimes/host/interpreters.ts';
import { probeWithin } from '../runtimes/probeWithin.ts';
import { loadRuntime } from '../runtimes/registry.ts';
import { packageVersion } from '../version.ts';
import { measureInLargeProcess } from './largeProcess.ts';
import { openSandbox } from './openSandbox.ts';
import type { BenchReport, Machine, MeasuredRow } from './report/report.ts';
import type { Bench, Measured, NotMeasured, Row } from './row.ts';
import { settingsFile } from './settingsFile.ts';

export interface BenchOptions {
  readonly rows: readonly Row[];
  readonly pairs: number;
  /** A settings file instead of the user's and the project's. */
  readonly configFile?: string;
  /** The file of the command line, which is started again where a row needs a process of its own. */
  readonly program: string;
  readonly onProgress?: (progress: BenchProgress) => void;
  readonly signal: AbortSignal;
}

/** How far it is: `done` of `total` of the row at `index`. */
export interface BenchProgress {
  readonly name: string;
  readonly index: number;
  readonly done: number;
  readonly total: number;
}

/**
 * Measures row after row; what goes wrong in one is told in it, and the others go on. Rejects with the signal's reason.
 */
export async function runBench(options: BenchOptions): Promise<BenchReport> {
  const { rows, pairs, configFile, onProgress = () => {}, signal } = options;
  const loaded = await loadSettings(configFile === undefined ? {} : { configFile, overrideKind: 'flag' });
  const folder = await mkdtemp(join(tmpdir(), 'glovebox-bench-'));
  try {
    const interpreters = new InterpreterFinder(runtimeOptions(loaded).interpreters);
    const means = meansFor(options, { loaded, interpreters, folder });
    const measured: MeasuredRow[] = [];
    for (const [index, row] of rows.entries()) {
      const { name, what, unit } = row;
      const progress = (done: number, total: number): void => onProgress({ name, index, done, total });
      progress(0, pairs);
      measured.push({ name, what, unit, result: await measure(row, { ...means, progress }) });
    }
    const machine = await describeMachine(interpreters);
    return { measuredAt: new Date().toISOString(), pairs, machine, rows: measured };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }

  async function measure(row: Row, bench: Bench): Promise<Measured | NotMeasured> {
    try {
      return await row.measure(bench);
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      return { status: 'failed', reason, ...(isSandboxError(error) ? { fix: error.hint } : {}) };
    }
  }
}

interface Surroundings {
  readonly loaded: LoadedSettings;
  readonly interpreters: InterpreterFinder;
  readonly folder: string;
}

/** What rows measure with; each probe and each interpreter is asked for once. */
function meansFor(
  { pairs, program, signal }: BenchOptions,
  { loaded, interpreters, folder }: Surroundings,
): Omit<Bench, 'progress'> {
  const runtimes = runtimeOptions(loaded);
  const probes = new Map<string, Promise<NotMeasured | undefined>>();
  let files = 0;
  const writeSettings = async (changed: Readonly<Record<string, unknown>> = {}): Promise<string> => {
    const file = join(folder, `settings-${files++}.yaml`);
    await writeFile(file, settingsFile(loaded.settings, changed));
    return file;
  };
  return {
    ...{ pairs, folder, program, signal },
    interpreter: async (language) => (await interpreters.find(language)).path,
    open: async (wish) => openSandbox(wish, { configFile: await writeSettings(wish.settings), cwd: folder }),
    whyNot(name) {
      const known = probes.get(name) ?? probe(name);
      probes.set(name, known);
      return known;
    },
    inLargeProcess: async (name, heldMb) =>
      measureInLargeProcess({
        ...{ program, name, pairs, heldMb, signal },
        configFile: await writeSettings(),
      }),
  };

  async function probe(name: string): Promise<NotMeasured | undefined> {
    const answer = await probeWithin(await loadRuntime(name, runtimes));
    if (answer.available) return undefined;
    return { status: 'skipped', reason: `${name} is not available. ${answer.reason}`, fix: answer.fix };
  }
}

async function describeMachine(interpreters: InterpreterFinder): Promise<Machine> {
  const python = await interpreters.find('python').catch(() => undefined);
  return {
    system: `${platform()} ${release()} ${arch()}`,
    processor: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryMb: Math.round(totalmem() / 1024 ** 2),
    node: process.version,
    ...(python === undefined ? {} : { python: python.version }),
    glovebox: packageVersion(),
  };
}
