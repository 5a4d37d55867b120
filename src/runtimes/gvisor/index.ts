import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { packageVersion } from '../../version.ts';
import { forgetCached, readCached, writeCached } from '../host/cache.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { describeCgroups } from '../host/cgroups/describe.ts';
import { findCgroups } from '../host/cgroups/find.ts';
import { initProgram } from '../host/init/init.ts';
import { InterpreterFinder, type InterpreterSettings } from '../host/interpreters.ts';
import { LOOK, type Look, parseLook } from '../host/look.ts';
import { namespaceSettings } from '../host/namespaces.ts';
import { prepareOutputPipes } from '../host/pipes.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import { findTools } from '../host/tools.ts';
import type { Capabilities, Guest, Probe, Runtime } from '../runtime.ts';
import { asSentence } from '../sentence.ts';
import { createGuest } from './create.ts';
import {
  askEngine,
  type Engine,
  engineNotes,
  INSTALL,
  mayOpenPipes,
  PACKAGES,
  type Tools,
} from './engine.ts';
import { type GivenRoot, interpretersIn, readGivenRoot, readState } from './givenRoot.ts';
import type { GvisorSettings } from './settings.ts';
import { lookInto, type TrialParts, tryOnce } from './trial.ts';

export interface GvisorOptions extends GvisorSettings {
  /** Of the host; a given root has its own. */
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
  let earlier: { readonly root: GivenRoot | undefined; readonly ready: Promise<Ready> } | undefined;
  const prepare = async (): Promise<Ready> => {
    const root = options.root === undefined ? undefined : readGivenRoot(options.root);
    if (earlier === undefined || root?.state !== earlier.root?.state || hasChanged(await earlier.ready)) {
      earlier = { root, ready: getReady(cgroups, options.trustEarlierTrial ?? false, root) };
    }
    return earlier.ready;
  };

  const runtime: Runtime = {
    name: 'gvisor',
    async probe(): Promise<Probe> {
      const { unavailable, engine, capabilities: ofHost, inside } = await prepare();
      if (unavailable) return unavailable;
      const capabilities = capabilitiesOf(engine, ofHost);
      const version = `runsc ${engine.version}, platform ${engine.platform}`;
      return {
        ...{ available: true, version, capabilities },
        about: [
          ...engineNotes(engine),
          ...(inside === undefined ? [] : [`Its root is the folder ${inside.path}.`]),
          describeCgroups(cgroups, process.getuid?.() === 0),
        ],
      };
    },
    async create(spec): Promise<Guest> {
      // What a crashed process left is not worth failing this run; `glovebox prune` tells what is wrong.
      swept ??= cgroups?.sweepHere().catch(() => {});
      const [{ unavailable, tools, engine, capabilities, inside }, ofHost] = await Promise.all([
        prepare(),
        options.root === undefined ? finder.findAll(spec.languages) : new Map(),
        swept,
      ]);
      if (unavailable) {
        throw new SandboxError('RUNTIME_UNAVAILABLE', `gVisor does not work here: ${unavailable.reason}`, {
          hint: unavailable.fix,
          details: { runtime: 'gvisor' },
        });
      }
      const interpreters =
        inside === undefined ? ofHost : interpretersIn(inside.path, inside.look, spec.languages);
      const root = inside?.path;
      return createGuest({ spec, tools, engine, capabilities, interpreters, cgroups, root });
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
      readonly inside?: never;
    }
  | {
      readonly unavailable?: never;
      readonly tools: Tools;
      readonly engine: Engine;
      readonly capabilities: Capabilities;
      /** Where a root was given. */
      readonly inside?: Inside;
    };

/** What is known of a given root. */
interface Inside {
  readonly path: string;
  readonly look: Look;
  /** Of the interpreters that were found, when they were. */
  readonly state: string;
}

/** An interpreter need not be where it was looked for: a script may start it. */
function stateOfFound(path: string, { interpreters }: Look): string {
  return readState(
    path,
    [...interpreters.values()].map((found) => found.path),
  );
}

function hasChanged({ inside }: Ready): boolean {
  return inside !== undefined && stateOfFound(inside.path, inside.look) !== inside.state;
}

/** Looks for the programs and then makes one sandbox, by the very code that makes the real ones. */
async function getReady(
  cgroups: CgroupHost | undefined,
  trustEarlierTrial: boolean,
  root: GivenRoot | undefined,
): Promise<Ready> {
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
  const tools = findTools(PACKAGES, { runsc: INSTALL });
  if ('reason' in tools) return unavailable(tools.reason, tools.fix);
  const capabilities = capabilitiesWith(cgroups);
  const key = trialKey(tools, capabilities);
  if (root !== undefined) {
    const parts = { tools, capabilities, cgroups, root: root.path };
    return getReadyInside(parts, trustEarlierTrial, [key, LOOK, root]);
  }
  const earlier = trustEarlierTrial ? await readCached('trials', key) : undefined;
  if (earlier !== undefined) return { tools, engine: engineFrom(earlier), capabilities };
  const engine = await askEngine(tools.runsc);
  if ('reason' in engine) return unavailable(engine.reason, engine.fix);
  const problem = await tryOnce({ tools, engine, capabilities, cgroups, root: undefined });
  if (problem !== undefined) {
    await forgetCached('trials', key);
    return unavailable(problem, TRIAL_FIX);
  }
  await writeCached('trials', key, wordsOf(engine));
  return { tools, engine, capabilities };
}

/** The same in a given root, whose interpreters are looked for at once. */
async function getReadyInside(
  parts: Omit<TrialParts, 'engine'> & { readonly root: string },
  trustEarlierTrial: boolean,
  key: unknown,
): Promise<Ready> {
  const { tools, capabilities, root: path } = parts;
  const [said = '', state = '', ...about] = (trustEarlierTrial && (await readCached('roots', key))) || [];
  const earlier = parseLook(said);
  if (earlier !== undefined && stateOfFound(path, earlier) === state) {
    return { tools, engine: engineFrom(about), capabilities, inside: { path, look: earlier, state } };
  }
  const engine = await askEngine(tools.runsc);
  if ('reason' in engine) return unavailable(engine.reason, engine.fix);
  const looked = await lookInto({ ...parts, engine });
  if ('problem' in looked) {
    await forgetCached('roots', key);
    return unavailable(`A sandbox in the root ${path} does not work: ${looked.problem}`, ROOT_FIX);
  }
  const inside = { path, look: looked.look, state: stateOfFound(path, looked.look) };
  await writeCached('roots', key, [looked.said, inside.state, ...wordsOf(engine)]);
  return { tools, engine, capabilities, inside };
}

const ROOT_FIX =
  'A root needs /bin/sh, sed, tr and uname with their libraries, for this processor, and a kernel of the host ' +
  'with overlay file systems. Leave gvisor_root (GVISOR_ROOT) unset, to see whether gVisor itself works here.';

const TRIAL_FIX =
  'Look whether runsc itself works here: runsc --network=none do true. ' +
  'In a container it needs the rights to make namespaces and to mount.';

function wordsOf({ version, platform, flags }: Engine): string[] {
  return [version, platform, ...flags];
}

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
    [tools, mtimeMs, size, capabilities, namespaceSettings()],
  ];
}

function unavailable(reason: string, fix: string): Ready {
  return { unavailable: { available: false, reason: asSentence(reason), fix } };
}

/** What of it this engine can do. Pure. */
export function capabilitiesOf(engine: Pick<Engine, 'flags'>, capabilities: Capabilities): Capabilities {
  if (mayOpenPipes(engine)) return capabilities;
  return { ...capabilities, network: capabilities.network.filter((mode) => mode !== 'allowlist') };
}

/** Who holds what with these cgroups. Pure. */
export function capabilitiesWith(cgroups: CgroupHost | undefined): Capabilities {
  return {
    isolation: 'kernel',
    network: ['none', 'allowlist'],
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
