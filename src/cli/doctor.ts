import { type LoadedSettings, loadSettings } from '../config/index.ts';
import { isSandboxError, SandboxError } from '../errors.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { runtimeOptions } from '../operations/context.ts';
import { type WarmHere, warmHere } from '../operations/warmHere.ts';
import { LIMIT_NAMES, type LimitName } from '../policy/policy.ts';
import { findInterpreter } from '../runtimes/host/interpreters.ts';
import { probeWithin, type TimedProbe } from '../runtimes/probeWithin.ts';
import { loadRuntime, RUNTIME_NAMES, type RuntimeOptions } from '../runtimes/registry.ts';
import { forTerminal } from './terminal.ts';
import { wrap } from './wrap.ts';

export interface DoctorFlags {
  readonly json?: boolean;
  readonly verify?: string;
  readonly config?: string;
}

/** Says what works here and how to get the rest, or runs the contract; resolves to the exit status. */
export async function doctor(flags: DoctorFlags): Promise<number> {
  const loaded = await loadSettings(
    flags.config === undefined ? {} : { configFile: flags.config, overrideKind: 'flag' },
  );
  const options = runtimeOptions(loaded);
  if (flags.verify !== undefined) return verify(flags.verify, options, flags.json ?? false);
  const [runtimes, languages] = await Promise.all([
    Promise.all(RUNTIME_NAMES.map((name) => examine(name, options))),
    Promise.all(LANGUAGE_NAMES.map((name) => lookFor(name, options.interpreters))),
  ]);
  const warm = await tryWarm(loaded, runtimes, options);
  await print(
    flags.json
      ? JSON.stringify({ ...asJson(runtimes, languages), warm: warmAsJson(loaded, warm) }, null, 2)
      : [
          ...runtimes.flatMap(describeRuntime),
          ...languages.flatMap(describeLanguage),
          ...describeWarm(loaded, warm),
        ].join('\n'),
  );
  // What still goes on would keep this process from ending.
  if (runtimes.some(({ probe }) => probe.hung)) process.exit(0);
  return 0;
}

interface Examined {
  readonly name: string;
  readonly probe: TimedProbe;
}

async function examine(name: string, options: RuntimeOptions): Promise<Examined> {
  return { name, probe: await probeWithin(await loadRuntime(name, options)) };
}

type Interpreter = { readonly name: LanguageName } & (
  | { readonly available: true; readonly path: string; readonly version: string }
  | { readonly available: false; readonly reason: string; readonly fix: string }
);

async function lookFor(name: LanguageName, settings: RuntimeOptions['interpreters']): Promise<Interpreter> {
  try {
    const { path, version } = await findInterpreter(name, settings);
    return { name, available: true, path, version };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { name, available: false, reason: error.message, fix: error.hint };
  }
}

function describeRuntime({ name, probe }: Examined): string[] {
  if (!probe.available) {
    return [...say(`${name}: not available. ${probe.reason}`, '', '  '), ...say(probe.fix, '  '), ''];
  }
  const { isolation, network, filesystem, processes, seccomp, limits } = probe.capabilities;
  return [
    ...say(`${name}: available (${probe.version})`, '', '  '),
    ...say(
      `isolation ${isolation}, files ${filesystem}, network ${network.join(' or ')}, processes ${processes}, seccomp ${seccomp ? 'on' : 'off'}`,
      '  ',
    ),
    ...say(`limits: ${LIMIT_NAMES.map((limit) => `${WORD[limit]} by ${limits[limit]}`).join(', ')}`, '  '),
    ...[...(probe.notes ?? []), ...(probe.about ?? [])].flatMap((note) => say(note, '  ')),
    '',
  ];
}

const WORD: Readonly<Record<LimitName, string>> = {
  memoryMb: 'memory',
  diskMb: 'disk',
  processes: 'processes',
  cpu: 'cpu',
  timeoutSec: 'timeout',
};

function describeLanguage(found: Interpreter): string[] {
  return found.available
    ? say(`${found.name}: ${found.path} (${found.version})`, '', '  ')
    : [...say(`${found.name}: not available. ${found.reason}`, '', '  '), ...say(found.fix, '  ')];
}

/** Of the runtime that the settings choose, where it works; nothing is started where nothing shall wait. */
async function tryWarm(
  loaded: LoadedSettings,
  runtimes: readonly Examined[],
  options: RuntimeOptions,
): Promise<readonly WarmHere[]> {
  const { warm, type } = loaded.settings;
  const isHere = runtimes.some(({ name, probe }) => name === type && probe.available);
  return warm === 'off' || !isHere ? [] : warmHere(loaded, await loadRuntime(type, options));
}

function describeWarm({ settings }: LoadedSettings, tried: readonly WarmHere[]): string[] {
  const { warm, warmMin, warmMax, warmMemoryMb, type } = settings;
  const size = `${warmMin} to ${warmMax} of a kind, ${warmMemoryMb} MB in all`;
  return [
    '',
    ...say(`kept ready: ${warm === 'off' ? 'off' : `${warm}, ${size}, with ${type}:`}`, '', '  '),
    ...tried.flatMap((found) =>
      say(
        `${found.language}: ${found.warmedBy === null ? `starts cold. ${found.because}` : found.warmedBy}`,
        '  ',
        '    ',
      ),
    ),
  ];
}

function warmAsJson({ settings }: LoadedSettings, tried: readonly WarmHere[]): object {
  return {
    ...{ mode: settings.warm, min: settings.warmMin, max: settings.warmMax },
    ...{ memory_mb: settings.warmMemoryMb, idle_sec: settings.warmIdleSec, preload: settings.warmPreload },
    runtime: settings.type,
    languages: tried.map(({ warmedBy, ...found }) => ({ ...found, warmed_by: warmedBy })),
  };
}

/** Reasons and versions come from programs of this machine. */
function say(text: string, indent: string, hanging?: string): string[] {
  return wrap(forTerminal(text), indent, hanging);
}

function asJson(runtimes: readonly Examined[], languages: readonly Interpreter[]): object {
  return {
    runtimes: runtimes.map(({ name, probe }) => {
      if (!probe.available) return { name, available: false, reason: probe.reason, fix: probe.fix };
      const { limits, ...capabilities } = probe.capabilities;
      return {
        name,
        available: true,
        version: probe.version,
        ...capabilities,
        limits: {
          memory_mb: limits.memoryMb,
          disk_mb: limits.diskMb,
          processes: limits.processes,
          cpu: limits.cpu,
          timeout_sec: limits.timeoutSec,
        },
        notes: probe.notes ?? [],
        about: probe.about ?? [],
      };
    }),
    languages,
  };
}

function print(text: string): Promise<void> {
  // A reader that went away is told once, where the process listens for it.
  return new Promise((resolve) => process.stdout.write(`${text}\n`, () => resolve()));
}

async function verify(name: string, options: RuntimeOptions, json: boolean): Promise<number> {
  const runtime = await loadRuntime(name, options);
  const probe = await probeWithin(runtime);
  if (!probe.available) {
    throw new SandboxError(
      'RUNTIME_UNAVAILABLE',
      `The runtime "${name}" does not work here: ${probe.reason}`,
      {
        hint: probe.fix,
      },
    );
  }
  const { verifyContract } = await import('../contract/index.ts');
  const reports = await verifyContract(runtime, {
    onReport: ({ verdict, promise, because }) => {
      if (json) return;
      process.stdout.write(`${verdict.padEnd(8)}${promise}${because ? `: ${forTerminal(because)}` : ''}\n`);
    },
  });
  const broken = reports.filter(({ verdict }) => verdict === 'broken').length;
  process.stdout.write(
    json
      ? `${JSON.stringify({ runtime: name, ok: broken === 0, clauses: reports }, null, 2)}\n`
      : `\n${name}: ${reports.length - broken} of ${reports.length} clauses hold.\n`,
  );
  return broken === 0 ? 0 : 1;
}
