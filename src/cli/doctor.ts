import { loadSettings } from '../config/index.ts';
import { isSandboxError, SandboxError } from '../errors.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { interpreterSettings } from '../operations/context.ts';
import { LIMIT_NAMES } from '../policy/policy.ts';
import { findInterpreter } from '../runtimes/host/interpreters.ts';
import { loadRuntime, RUNTIME_NAMES } from '../runtimes/registry.ts';
import type { Probe } from '../runtimes/runtime.ts';
import { forTerminal } from './terminal.ts';

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
  const options = {
    interpreters: interpreterSettings(loaded),
    localIsolation: loaded.settings.localIsolation,
  };
  if (flags.verify !== undefined) return verify(flags.verify, options, flags.json ?? false);
  const runtimes: [string, Probe][] = [];
  for (const name of RUNTIME_NAMES) {
    runtimes.push([name, await (await loadRuntime(name, options)).probe()]);
  }
  const languages: [LanguageName, Awaited<ReturnType<typeof lookFor>>][] = [];
  for (const name of LANGUAGE_NAMES) languages.push([name, await lookFor(name, options.interpreters)]);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(asJson(runtimes, languages), null, 2)}\n`);
    return 0;
  }
  const lines = [...runtimes.flatMap(describeRuntime), ...languages.map(describeLanguage)];
  process.stdout.write(`${lines.map(forTerminal).join('\n')}\n`);
  return 0;
}

type Interpreter =
  | { readonly available: true; readonly path: string; readonly version: string }
  | { readonly available: false; readonly reason: string; readonly fix: string };

async function lookFor(
  language: LanguageName,
  settings: Parameters<typeof findInterpreter>[1],
): Promise<Interpreter> {
  try {
    const { path, version } = await findInterpreter(language, settings);
    return { available: true, path, version };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { available: false, reason: error.message, fix: error.hint };
  }
}

function describeRuntime([name, probe]: [string, Probe]): string[] {
  if (!probe.available) return [`${name}: not available. ${probe.reason}`, `  ${probe.fix}`, ''];
  const { isolation, network, filesystem, processes, seccomp, limits } = probe.capabilities;
  return [
    `${name}: available (${probe.version})`,
    `  isolation ${isolation}, files ${filesystem}, network ${network.join(' or ')}, processes ${processes}, seccomp ${seccomp ? 'on' : 'off'}`,
    `  limits: ${LIMIT_NAMES.map((limit) => `${limit} by ${limits[limit]}`).join(', ')}`,
    ...(probe.notes ?? []).map((note) => `  ${note}`),
    '',
  ];
}

function describeLanguage([name, found]: [LanguageName, Interpreter]): string {
  return found.available
    ? `${name}: ${found.path} (${found.version})`
    : `${name}: not available. ${found.reason} ${found.fix}`;
}

function asJson(
  runtimes: readonly [string, Probe][],
  languages: readonly [LanguageName, Interpreter][],
): object {
  return {
    runtimes: runtimes.map(([name, probe]) => {
      if (!probe.available) return { name, ...probe };
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
      };
    }),
    languages: languages.map(([name, found]) => ({ name, ...found })),
  };
}

async function verify(
  name: string,
  options: Parameters<typeof loadRuntime>[1],
  json: boolean,
): Promise<number> {
  const runtime = await loadRuntime(name, options);
  const probe = await runtime.probe();
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
