import { text } from 'node:stream/consumers';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Policy } from '../../policy/policy.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { findCgroups } from '../host/cgroups/find.ts';
import { findInterpreter, type HostInterpreter, type InterpreterSettings } from '../host/interpreters.ts';
import { ownedName } from '../host/owner.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import type { Capabilities, Guest, LimitHolder, Probe, Runtime, SandboxSpec } from '../runtime.ts';
import { BubblewrapGuest } from './guest.ts';
import { createStage } from './stage.ts';
import { findTools, type Tools } from './tools.ts';

export interface BubblewrapOptions {
  readonly interpreters?: InterpreterSettings;
  /** Where to make cgroups; found by itself, and `null` to do without. */
  readonly cgroups?: CgroupHost | null;
}

/** Linux namespaces on the host's kernel, made by bubblewrap, with a seccomp filter of ours. */
export function bubblewrap(options: BubblewrapOptions = {}): Runtime {
  const cgroups = options.cgroups === undefined ? findCgroups() : (options.cgroups ?? undefined);
  let swept: Promise<unknown> | undefined;
  let ready: Promise<Ready> | undefined;
  const prepare = (): Promise<Ready> => {
    ready ??= getReady(cgroups);
    return ready;
  };

  const runtime: Runtime = {
    name: 'bubblewrap',
    async probe(): Promise<Probe> {
      const { unavailable, tools, capabilities } = await prepare();
      return unavailable ?? { available: true, version: `bubblewrap ${tools.version}`, capabilities };
    },
    async create(spec): Promise<Guest> {
      swept ??= cgroups?.sweep();
      const [{ unavailable, tools, capabilities }, interpreters] = await Promise.all([
        prepare(),
        findAll(spec.languages, options.interpreters),
        swept,
      ]);
      if (unavailable) {
        throw new SandboxError(
          'RUNTIME_UNAVAILABLE',
          `bubblewrap does not work here: ${unavailable.reason}`,
          {
            hint: unavailable.fix,
            details: { runtime: 'bubblewrap' },
          },
        );
      }
      return createGuest({ spec, tools, capabilities, interpreters, cgroups });
    },
    async sweep() {
      return (await cgroups?.sweep()) ?? 0;
    },
  };
  return runtime;
}

type Ready =
  | {
      readonly unavailable: Probe & { available: false };
      readonly tools?: never;
      readonly capabilities?: never;
    }
  | { readonly unavailable?: never; readonly tools: Tools; readonly capabilities: Capabilities };

/** Looks for the programs and then makes one sandbox, by the very code that makes the real ones. */
async function getReady(cgroups: CgroupHost | undefined): Promise<Ready> {
  if (process.platform !== 'linux') {
    return unavailable(
      `Linux namespaces do not exist on ${process.platform}.`,
      'Use Linux, or a Linux virtual machine.',
    );
  }
  if (seccompFilter(process.arch) === undefined) {
    return unavailable(
      `There is no seccomp filter for ${process.arch} yet.`,
      'Use a machine with x64 or arm64.',
    );
  }
  const search = await findTools();
  if (!('found' in search)) return unavailable(search.reason, search.fix);
  const tools = search.found;
  const capabilities = capabilitiesWith(cgroups);
  const problem = await tryOnce(tools, capabilities, cgroups);
  return problem === undefined ? { tools, capabilities } : unavailable(problem, NAMESPACES_FIX);
}

const NAMESPACES_FIX =
  'Let this user make namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), ' +
  'sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, allow user namespaces.';

function unavailable(reason: string, fix: string): Ready {
  return { unavailable: { available: false, reason, fix } };
}

/** Who holds what with these cgroups. Pure. */
export function capabilitiesWith(cgroups: CgroupHost | undefined): Capabilities {
  const by = (controller: 'memory' | 'pids' | 'cpu', otherwise: LimitHolder): LimitHolder =>
    cgroups?.controllers.has(controller) ? 'cgroup' : otherwise;
  return {
    isolation: 'namespace',
    network: ['none', 'open'],
    filesystem: 'private',
    processes: 'contained',
    seccomp: true,
    limits: {
      memoryMb: by('memory', 'rlimit'),
      diskMb: 'tmpfs',
      processes: by('pids', 'rlimit'),
      cpu: by('cpu', 'none'),
      timeoutSec: 'timer',
    },
  };
}

const TRIAL_POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: { value: 64, default: true },
    diskMb: { value: 1, default: true },
    // Enough for the trial, and so few that a kernel which counts the whole user's processes here fails it.
    processes: { value: 8, default: true },
    timeoutSec: { value: 10, default: true },
  },
  requires: {},
};

/** What the program of the trial must find about itself. */
const TRIAL_FACTS = [/^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m];

async function tryOnce(
  tools: Tools,
  capabilities: Capabilities,
  cgroups: CgroupHost | undefined,
): Promise<string | undefined> {
  try {
    const spec: SandboxSpec = { id: 'trial', policy: TRIAL_POLICY, languages: [] };
    const guest = await createGuest({ spec, tools, capabilities, interpreters: new Map(), cgroups });
    try {
      const trial = await guest.spawn({
        argv: [tools.sh, '-c', 'cat /proc/self/status; exit'],
        env: guest.environment,
      });
      const [status, said, { code }] = await Promise.all([
        text(trial.stdout),
        text(trial.stderr),
        trial.exit,
      ]);
      if (code !== 0) return `a trial sandbox failed: ${said.trim()}`;
      const missing = TRIAL_FACTS.find((fact) => !fact.test(status));
      return missing === undefined
        ? undefined
        : `a trial sandbox was not held: ${missing.source} is not so inside.`;
    } finally {
      await guest.destroy();
    }
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return error.message;
  }
}

async function findAll(
  languages: readonly LanguageName[],
  settings: InterpreterSettings | undefined,
): Promise<Map<LanguageName, HostInterpreter | SandboxError>> {
  const found = await Promise.all(
    languages.map(async (language): Promise<[LanguageName, HostInterpreter | SandboxError]> => {
      try {
        return [language, await findInterpreter(language, settings)];
      } catch (error) {
        // Told when the language is used: a sandbox for several need not have all of them.
        if (error instanceof SandboxError) return [language, error];
        throw error;
      }
    }),
  );
  return new Map(found);
}

async function createGuest(parts: {
  readonly spec: SandboxSpec;
  readonly tools: Tools;
  readonly capabilities: Capabilities;
  readonly interpreters: ReadonlyMap<LanguageName, HostInterpreter | SandboxError>;
  readonly cgroups: CgroupHost | undefined;
}): Promise<Guest> {
  const { spec, tools, capabilities, interpreters, cgroups } = parts;
  const { memoryMb, diskMb, processes, cpu } = spec.policy.limits;
  const prefixes = [...interpreters.values()].flatMap((found) =>
    found instanceof SandboxError ? [] : found.prefixes,
  );
  const stage = await createStage({ tools, diskMb: diskMb.value, prefixes: [...new Set(prefixes)] });
  try {
    const cgroup = await cgroups?.create(ownedName(spec.id), {
      // The workspace's pages count as memory: a full disk must be ENOSPC and not the end of the program.
      memoryBytes: Math.ceil((memoryMb.value + diskMb.value) * 1024 ** 2),
      processes: processes.value,
      ...(cpu === undefined ? {} : { cpuCores: cpu.value }),
    });
    const seccomp = seccompFilter(process.arch) ?? new Uint8Array();
    return await BubblewrapGuest.create({ tools, spec, stage, cgroup, capabilities, seccomp, interpreters });
  } catch (error) {
    await stage.close();
    throw error;
  }
}
