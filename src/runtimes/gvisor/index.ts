import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import { packageVersion } from '../../version.ts';
import { readCached, writeCached } from '../host/cache.ts';
import type { Cgroup, CgroupHost } from '../host/cgroups/cgroup.ts';
import { findCgroups } from '../host/cgroups/find.ts';
import { INSIDE_ID } from '../host/furniture.ts';
import { readHostView } from '../host/hostView.ts';
import {
  type FoundInterpreters,
  InterpreterFinder,
  type InterpreterSettings,
  prefixesOf,
} from '../host/interpreters.ts';
import { ownedName } from '../host/owner.ts';
import { prepareOutputPipes, takeOutputPipes } from '../host/pipes.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import { createStage, mountPoint } from '../host/stage.ts';
import { findTools } from '../host/tools.ts';
import type { Capabilities, Guest, Probe, Runtime, SandboxSpec } from '../runtime.ts';
import { controlPaths, furnishControl } from './control.ts';
import { askEngine, type Engine, engineNotes, PACKAGES, type Tools } from './engine.ts';
import { APART, ENGINE_MEMORY_MB, GvisorGuest } from './guest.ts';
import { initProgram, initSettings } from './init/init.ts';
import { hostRoot, mountTable } from './root.ts';

export interface GvisorOptions {
  readonly interpreters?: InterpreterSettings;
  /** Where to make cgroups; found by itself, and `null` to do without. */
  readonly cgroups?: CgroupHost | null;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
}

/** A kernel in user space, gVisor's, between the program and the host's: `runsc` driven directly. */
export function gvisor(options: GvisorOptions = {}): Runtime {
  const cgroups = options.cgroups === undefined ? findCgroups() : (options.cgroups ?? undefined);
  const finder = new InterpreterFinder(options.interpreters);
  let swept: Promise<unknown> | undefined;
  let ready: Promise<Ready> | undefined;
  const prepare = (): Promise<Ready> => {
    ready ??= getReady(cgroups, options.trustEarlierTrial ?? false);
    return ready;
  };

  const runtime: Runtime = {
    name: 'gvisor',
    async probe(): Promise<Probe> {
      const { unavailable, engine, capabilities } = await prepare();
      if (unavailable) return unavailable;
      const version = `runsc ${engine.version}, platform ${engine.platform}`;
      return { available: true, version, capabilities, notes: engineNotes(engine) };
    },
    async create(spec): Promise<Guest> {
      // What a crashed process left is not worth failing this run; `glovebox prune` tells what is wrong.
      swept ??= cgroups?.sweepHere().catch(() => {});
      const [{ unavailable, tools, engine, capabilities }, interpreters] = await Promise.all([
        prepare(),
        finder.findAll(spec.languages),
        swept,
      ]);
      if (unavailable) {
        throw new SandboxError('RUNTIME_UNAVAILABLE', `gVisor does not work here: ${unavailable.reason}`, {
          hint: unavailable.fix,
          details: { runtime: 'gvisor' },
        });
      }
      return createGuest({ spec, tools, engine, capabilities, interpreters, cgroups });
    },
    async sweep() {
      return (await cgroups?.sweepEverywhere()) ?? 0;
    },
  };
  return runtime;
}

type Ready =
  | {
      readonly unavailable: Probe & { available: false };
      readonly tools?: never;
      readonly engine?: never;
      readonly capabilities?: never;
    }
  | {
      readonly unavailable?: never;
      readonly tools: Tools;
      readonly engine: Engine;
      readonly capabilities: Capabilities;
    };

/** Looks for the programs and then makes one sandbox, by the very code that makes the real ones. */
async function getReady(cgroups: CgroupHost | undefined, trustEarlierTrial: boolean): Promise<Ready> {
  if (process.platform !== 'linux') {
    return unavailable(
      `gVisor does not exist on ${process.platform}.`,
      'Use Linux, or a Linux virtual machine.',
    );
  }
  if (seccompFilter(process.arch) === undefined || initProgram(process.arch) === undefined) {
    return unavailable(`gVisor is not used on ${process.arch} yet.`, 'Use a machine with x64 or arm64.');
  }
  if (process.getuid?.() !== 0) {
    return unavailable(
      "Only root can use it: for anybody else runsc cannot give files to a program's user that is not root inside.",
      'Run as root, or use the runtime "bubblewrap".',
    );
  }
  // A sandbox is likely to follow.
  prepareOutputPipes();
  const tools = findTools(PACKAGES);
  if ('reason' in tools) return unavailable(tools.reason, tools.fix);
  const capabilities = capabilitiesWith(cgroups);
  const key = trialKey(tools, capabilities);
  const earlier = trustEarlierTrial ? await readCached('trials', key) : undefined;
  if (earlier !== undefined) return { tools, engine: engineFrom(earlier), capabilities };
  const engine = await askEngine(tools.runsc);
  if ('reason' in engine) return unavailable(engine.reason, engine.fix);
  const problem = await tryOnce(tools, engine, capabilities, cgroups);
  if (problem !== undefined) return unavailable(problem, TRIAL_FIX);
  await writeCached('trials', key, [engine.version, engine.platform, ...engine.flags]);
  return { tools, engine, capabilities };
}

const TRIAL_FIX =
  'Look whether runsc itself works here: runsc --network=none do true. ' +
  'In a container it needs the rights to make namespaces and to mount.';

function engineFrom([version = '', platform = '', ...flags]: readonly string[]): Engine {
  return { version, platform, flags: new Set(flags) };
}

/** All that decides whether a trial goes well. */
function trialKey(tools: Tools, capabilities: Capabilities): unknown {
  const { mtimeMs, size } = statSync(tools.runsc);
  return [
    packageVersion(),
    readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'),
    process.getuid?.(),
    ['mnt', 'pid', 'user'].map((namespace) => readlinkSync(`/proc/self/ns/${namespace}`)),
    [tools, mtimeMs, size, capabilities],
  ];
}

function unavailable(reason: string, fix: string): Ready {
  return { unavailable: { available: false, reason, fix } };
}

/** Who holds what with these cgroups. Pure. */
export function capabilitiesWith(cgroups: CgroupHost | undefined): Capabilities {
  return {
    isolation: 'kernel',
    network: ['none'],
    filesystem: 'private',
    processes: 'contained',
    // Around programs, and held by gVisor's kernel; another filter, of gVisor's own, is around that kernel.
    seccomp: true,
    limits: {
      // That kernel limits nothing but the address space of a process, of which V8 reserves far more than it uses.
      memoryMb: cgroups?.controllers.has('memory') ? 'cgroup' : 'none',
      diskMb: 'tmpfs',
      processes: 'rlimit',
      cpu: cgroups?.controllers.has('cpu') ? 'cgroup' : 'none',
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
    processes: { value: 8, default: true },
    timeoutSec: { value: 10, default: true },
  },
  requires: {},
};

/** What the program of the trial must find about itself. */
const TRIAL_FACTS = [/^Uid:(\t1000){4}$/m, /^Seccomp:\t2$/m, /^CapEff:\t0+$/m, /^CapBnd:\t0+$/m];

/** A platform that does not work may hang for good instead of saying so. */
const TRIAL_TIMEOUT_MS = 20_000;

async function tryOnce(
  tools: Tools,
  engine: Engine,
  capabilities: Capabilities,
  cgroups: CgroupHost | undefined,
): Promise<string | undefined> {
  try {
    const spec: SandboxSpec = {
      id: `trial${randomBytes(6).toString('hex')}`,
      policy: TRIAL_POLICY,
      languages: [],
    };
    const interpreters = new Map();
    const guest = await createGuest({ spec, tools, engine, capabilities, interpreters, cgroups });
    try {
      return await runTrial(guest);
    } finally {
      await guest.destroy();
    }
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return error.message;
  }
}

async function runTrial(guest: Guest): Promise<string | undefined> {
  const trial = await guest.spawn({
    argv: ['/bin/sh', '-c', 'cat /proc/version /proc/self/status; exit'],
    env: guest.environment,
  });
  const deadline = setTimeout(() => trial.kill('SIGKILL'), TRIAL_TIMEOUT_MS);
  try {
    const [seen, said, { code }] = await Promise.all([text(trial.stdout), text(trial.stderr), trial.exit]);
    if (code !== 0) return `a trial sandbox failed: ${said.trim() || `it ended with ${code}`}`;
    if (seen.startsWith(readFileSync('/proc/version', 'utf8'))) {
      return "a trial sandbox was not held: its kernel is the host's.";
    }
    const missing = TRIAL_FACTS.find((fact) => !fact.test(seen));
    return missing && `a trial sandbox was not held: ${missing.source} is not so inside.`;
  } finally {
    clearTimeout(deadline);
  }
}

/** For the engine's own threads; each process inside takes a few of the host's besides. */
const ENGINE_THREADS = 1024;
const THREADS_PER_PROCESS = 4;

async function createGuest(parts: {
  readonly spec: SandboxSpec;
  readonly tools: Tools;
  readonly engine: Engine;
  readonly capabilities: Capabilities;
  readonly interpreters: FoundInterpreters;
  readonly cgroups: CgroupHost | undefined;
}): Promise<Guest> {
  const { spec, tools, engine, capabilities, interpreters, cgroups } = parts;
  const { memoryMb, diskMb, processes, cpu } = spec.policy.limits;
  const user = { uid: INSIDE_ID, gid: INSIDE_ID };
  const filter = seccompFilter(process.arch) ?? new Uint8Array();
  const init = {
    init: initProgram(process.arch) ?? new Uint8Array(),
    settings: initSettings(user, filter),
  };
  cgroups?.hurry();
  const output = await takeOutputPipes();
  const prefixes = prefixesOf(interpreters);
  const mount = mountPoint(prefixes);
  const root = hostRoot(readHostView(), prefixes, {
    isFolder: (path) => statSync(path).isDirectory(),
    read: (path) => readFileSync(path),
  });
  const paths = controlPaths(mount);
  const staging = createStage({
    enter: [tools.setpriv, '--pdeathsig', 'KILL', tools.unshare, ...APART],
    withUserNamespace: false,
    ...{ tools, user, diskMb: diskMb.value, mount, output },
    steps: [{ mountTable: mountTable(root, paths), file: paths.table, with: tools.mount }],
  });
  // Looked at below; a failure meanwhile is not an unhandled one.
  staging.catch(() => {});
  let cgroup: Cgroup | undefined;
  try {
    cgroup = await cgroups?.create(ownedName(spec.id), {
      // The workspace's pages count as memory: a full disk must be ENOSPC and not the end of the program.
      memoryBytes: Math.ceil((memoryMb.value + diskMb.value + ENGINE_MEMORY_MB) * 1024 ** 2),
      processes: ENGINE_THREADS + THREADS_PER_PROCESS * processes.value,
      ...(cpu === undefined ? {} : { cpuCores: cpu.value }),
    });
    const stage = await staging;
    furnishControl(stage, root, init);
    return new GvisorGuest({ tools, engine, spec, stage, cgroup, capabilities, interpreters });
  } catch (error) {
    const stage = await staging.catch(() => undefined);
    await stage?.first.launcher.abandon();
    output.destroy();
    stage?.close();
    await cgroup?.remove();
    throw error;
  }
}
