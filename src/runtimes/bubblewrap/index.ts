import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { packageVersion } from '../../version.ts';
import { forgetCached, readCached, writeCached } from '../host/cache.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { describeCgroups } from '../host/cgroups/describe.ts';
import { findCgroups } from '../host/cgroups/find.ts';
import { readHostView } from '../host/hostView.ts';
import {
  type FoundInterpreters,
  type HostInterpreter,
  InterpreterFinder,
  type InterpreterSettings,
  prefixesOf,
} from '../host/interpreters.ts';
import { namespaceSettings } from '../host/namespaces.ts';
import { prepareOutputPipes, takeOutputPipes } from '../host/pipes.ts';
import { ProgramGroups } from '../host/programGroups.ts';
import { chooseSandboxUser, ownerOtherThanUs } from '../host/sandboxUser.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import { findTools, type Missing } from '../host/tools.ts';
import { trialSpec } from '../host/trialSpec.ts';
import type { Capabilities, Guest, LimitHolder, Probe, Runtime, SandboxSpec } from '../runtime.ts';
import { asSentence } from '../sentence.ts';
import { extraProcesses } from './enforced.ts';
import { ForkServers, type ForkServersParts } from './forkServer/index.ts';
import { groupSizes } from './groupSizes.ts';
import { BubblewrapGuest } from './guest.ts';
import { createBubblewrapStage } from './stage.ts';
import { checkVersion, PACKAGES, type Tools } from './tools.ts';
import { WaitingGuest, whoCanWait } from './waitingGuest.ts';

export interface BubblewrapOptions {
  readonly interpreters?: InterpreterSettings;
  /** Where to make cgroups; found by itself, and `null` to do without. */
  readonly cgroups?: CgroupHost | null;
  /**
   * Whether a trial that went well earlier, on this boot, for this user and with this very bubblewrap, may
   * stand for a new one. For short-lived commands, which would spend more on the trial than on the run.
   */
  readonly trustEarlierTrial?: boolean;
  /** False: a Python that waits is always one of its own, as it is where no fork server works. */
  readonly forkServer?: boolean;
}

/** Linux namespaces on the host's kernel, made by bubblewrap, with a seccomp filter of ours. */
export function bubblewrap(options: BubblewrapOptions = {}): Runtime {
  const cgroups = options.cgroups === undefined ? findCgroups() : (options.cgroups ?? undefined);
  const finder = new InterpreterFinder(options.interpreters);
  let swept: Promise<unknown> | undefined;
  let ready: Promise<Ready> | undefined;
  let servers: ForkServers | undefined;
  const prepare = (): Promise<Ready> => {
    ready ??= getReady(cgroups, options.trustEarlierTrial ?? false);
    return ready;
  };
  const createForked = async (
    spec: SandboxSpec,
    parts: ForkServersParts,
    interpreters: FoundInterpreters,
  ): Promise<Guest | undefined> => {
    const warm = whoCanWait(spec, interpreters);
    if (options.forkServer === false || warm === undefined) return undefined;
    const python = await whoCanFork(finder, interpreters);
    if (python === undefined) return undefined;
    servers ??= new ForkServers(parts);
    return servers.create({ spec, warm, interpreters, python });
  };

  const runtime: Runtime = {
    name: 'bubblewrap',
    async probe(): Promise<Probe> {
      const { unavailable, version, capabilities } = await prepare();
      return (
        unavailable ?? {
          available: true,
          version: `bubblewrap ${version}`,
          capabilities,
          about: [describeCgroups(cgroups, process.getuid?.() === 0)],
        }
      );
    },
    async create(spec): Promise<Guest> {
      // What a crashed process left is not worth failing this run; `glovebox prune` tells what is wrong.
      swept ??= cgroups?.sweepHere().catch(() => {});
      const [{ unavailable, tools, capabilities, seccomp }, interpreters] = await Promise.all([
        prepare(),
        finder.findAll(spec.languages),
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
      assertEnoughProcesses(spec, capabilities);
      const forked = await createForked(spec, { tools, capabilities, cgroups }, interpreters);
      return forked ?? createGuest({ spec, tools, capabilities, seccomp, interpreters, cgroups });
    },
    rest: async () => servers?.rest(),
    async sweep() {
      return (await cgroups?.sweepEverywhere()) ?? 0;
    },
  };
  return runtime;
}

/** The Python that a fork server can be, where it runs with nothing more in its view than these interpreters need. */
async function whoCanFork(
  finder: InterpreterFinder,
  interpreters: FoundInterpreters,
): Promise<HostInterpreter | undefined> {
  const found = interpreters.get('python') ?? (await finder.findAll(['python'])).get('python');
  if (found === undefined || found instanceof SandboxError) return undefined;
  const visible = prefixesOf(interpreters);
  return found.prefixes.every((prefix) => visible.includes(prefix)) ? found : undefined;
}

type Ready =
  | {
      readonly unavailable: Probe & { available: false };
      readonly tools?: never;
      readonly version?: never;
      readonly capabilities?: never;
      readonly seccomp?: never;
    }
  | {
      readonly unavailable?: never;
      readonly tools: Tools;
      readonly version: string;
      readonly capabilities: Capabilities;
      readonly seccomp: Uint8Array;
    };

/** Looks for the programs and then makes one sandbox, by the very code that makes the real ones. */
async function getReady(cgroups: CgroupHost | undefined, trustEarlierTrial: boolean): Promise<Ready> {
  if (process.platform !== 'linux') {
    return unavailable(
      `Linux namespaces do not exist on ${process.platform}.`,
      'Use Linux, or a Linux virtual machine.',
    );
  }
  const seccomp = seccompFilter(process.arch);
  if (seccomp === undefined) {
    return unavailable(
      `There is no seccomp filter for ${process.arch} yet.`,
      'Use a machine with x64 or arm64.',
    );
  }
  // A sandbox is likely to follow.
  prepareOutputPipes();
  const tools = findTools(PACKAGES);
  if ('reason' in tools) return unavailable(tools.reason, tools.fix);
  const capabilities = capabilitiesWith(cgroups);
  const key = trialKey(tools, capabilities);
  const [earlier] = (trustEarlierTrial && (await readCached('trials', key))) || [];
  if (earlier !== undefined) return { tools, version: earlier, capabilities, seccomp };
  const checked = await checkVersion(tools);
  if ('reason' in checked) return unavailable(checked.reason, checked.fix);
  const problem = await tryOnce({ tools, capabilities, seccomp, cgroups });
  if (problem !== undefined) {
    await forgetCached('trials', key);
    return unavailable(problem.reason, problem.fix);
  }
  await writeCached('trials', key, [checked.version]);
  return { tools, version: checked.version, capabilities, seccomp };
}

/** All that decides whether a trial goes well. */
function trialKey(tools: Tools, capabilities: Capabilities): unknown {
  const { mtimeMs, size } = statSync(tools.bwrap);
  return [
    packageVersion(),
    readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
    process.getuid?.(),
    ['mnt', 'pid', 'user'].map((namespace) => readlinkSync(`/proc/self/ns/${namespace}`)),
    [tools, mtimeMs, size, capabilities, namespaceSettings()],
  ];
}

const NAMESPACES_FIX =
  'Let this user make namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), ' +
  'sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), ' +
  'sysctl user.max_user_namespaces=15000 (where it is 0); in a container, start that with ' +
  '--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined.';

function unavailable(reason: string, fix: string): Ready {
  return { unavailable: { available: false, reason: asSentence(reason), fix } };
}

/** Who holds what with these cgroups. Pure. */
export function capabilitiesWith(cgroups: CgroupHost | undefined): Capabilities {
  const by = (controller: 'memory' | 'pids' | 'cpu', otherwise: LimitHolder): LimitHolder =>
    cgroups?.controllers.has(controller) ? 'cgroup' : otherwise;
  return {
    isolation: 'namespace',
    network: ['none', 'allowlist', 'open'],
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

/** What the program of the trial must find about itself. */
const TRIAL_FACTS = [/^NoNewPrivs:\t1$/m, /^Seccomp:\t2$/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m];

async function tryOnce(parts: Omit<GuestParts, 'spec' | 'interpreters'>): Promise<Missing | undefined> {
  const { tools } = parts;
  try {
    const guest = await createGuest({ ...parts, spec: trialSpec(), interpreters: new Map() });
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
      if (code !== 0) return notHeld(`failed: ${said.trim() || `it ended with ${code}`}`);
      const missing = TRIAL_FACTS.find((fact) => !fact.test(status));
      return missing === undefined ? undefined : notHeld(`was not held: ${missing.source} is not so inside`);
    } finally {
      await guest.destroy();
    }
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    // A hint that sends here is none here.
    const fix = error.hint.includes('glovebox doctor') ? NAMESPACES_FIX : error.hint;
    return { reason: error.message, fix };
  }
}

function notHeld(what: string): Missing {
  return { reason: `A trial sandbox ${what}`, fix: NAMESPACES_FIX };
}

/** bubblewrap, the init that it leaves inside, and the program. */
const FEWEST_PROCESSES = 3;

function assertEnoughProcesses({ policy }: SandboxSpec, capabilities: Capabilities): void {
  const { processes } = policy.limits;
  if (capabilities.limits.processes === 'cgroup' && processes.value < FEWEST_PROCESSES) {
    throw new SandboxError(
      'POLICY_NOT_ENFORCEABLE',
      `A sandbox cannot be held to ${processes.value} processes: two are its own.`,
      {
        hint: `Ask for at least ${FEWEST_PROCESSES} (maxProcesses, SANDBOX_MAX_PROCESSES).`,
      },
    );
  }
}

interface GuestParts {
  readonly spec: SandboxSpec;
  readonly tools: Tools;
  readonly capabilities: Capabilities;
  readonly seccomp: Uint8Array;
  readonly interpreters: FoundInterpreters;
  readonly cgroups: CgroupHost | undefined;
}

async function createGuest(parts: GuestParts): Promise<Guest> {
  const { spec, tools, capabilities, seccomp, interpreters, cgroups } = parts;
  const { diskMb } = spec.policy.limits;
  const user = chooseSandboxUser();
  cgroups?.hurry();
  const stdin = spec.relay && 'stream';
  const output = await takeOutputPipes(ownerOtherThanUs(user), stdin);
  const warm = whoCanWait(spec, interpreters);
  const staging = createBubblewrapStage({
    tools,
    user,
    diskMb: diskMb.value,
    prefixes: prefixesOf(interpreters),
    output,
    ...(stdin === undefined ? {} : { stdin }),
    pipesInput: warm !== undefined,
  });
  // Looked at below; a failure meanwhile is not an unhandled one.
  staging.catch(() => {});
  let groups: ProgramGroups | undefined;
  try {
    groups = await ProgramGroups.create(cgroups, spec, groupSizes(spec), extraProcesses(spec));
    const host = readHostView();
    const stage = await staging;
    const made = {
      tools,
      spec,
      host,
      stage,
      groups,
      capabilities,
      seccomp,
      interpreters,
    };
    return warm === undefined ? BubblewrapGuest.create(made) : await WaitingGuest.open(made, warm);
  } catch (error) {
    const stage = await staging.catch(() => undefined);
    await stage?.first.launcher.abandon();
    output.destroy();
    stage?.close();
    await groups?.remove();
    throw error;
  }
}
