import { readFileSync, statSync } from 'node:fs';
import { LANGUAGE_NAMES } from '../../languages/language.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { INSIDE_ID } from '../host/furniture.ts';
import { readHostView } from '../host/hostView.ts';
import { initProgram, initSettings } from '../host/init/init.ts';
import { type FoundInterpreters, prefixesOf } from '../host/interpreters.ts';
import type { LaunchStep } from '../host/launcher.ts';
import { type InputPipe, takeInputPipe, takeOutputPipes } from '../host/pipes.ts';
import { ProgramGroups } from '../host/programGroups.ts';
import { seccompFilter } from '../host/seccomp/filter.ts';
import { createStage, mountPoint, type Stage } from '../host/stage.ts';
import { wishedWaiting } from '../host/waitingInterpreter.ts';
import { relayProgram } from '../relay/relay.ts';
import type { Capabilities, Guest, SandboxSpec } from '../runtime.ts';
import { controlPaths, furnishControl, furnishRoot } from './control.ts';
import type { Engine, Tools } from './engine.ts';
import { APART, ENGINE_MEMORY_MB, GvisorGuest } from './guest.ts';
import { givenRootSteps, hostRoot, mountTable } from './root.ts';

/** For the engine's own threads; each process inside takes a few of the host's besides. */
const ENGINE_THREADS = 1024;
const THREADS_PER_PROCESS = 4;

/** Whom the relay runs as, in the numbers of the sandbox: nobody that the program is, and no account of the host. */
const RELAY_ID = 0x60000000;

export interface SandboxParts {
  readonly spec: SandboxSpec;
  readonly tools: Tools;
  readonly engine: Engine;
  readonly capabilities: Capabilities;
  readonly interpreters: FoundInterpreters;
  readonly cgroups: CgroupHost | undefined;
  /** The folder that is the root of it, by its real path; the host's own system folders otherwise. */
  readonly root: string | undefined;
}

/** Makes a sandbox: its files, its cgroup, and what its programs will start with, or its interpreter that waits. */
export async function createGuest(parts: SandboxParts): Promise<Guest> {
  const warm = wishedWaiting(
    parts.spec,
    LANGUAGE_NAMES.filter((language) => 'path' in (parts.interpreters.get(language) ?? {})),
  );
  if (warm === undefined) return makeGuest(parts);
  const input = await takeInputPipe();
  let guest: GvisorGuest | undefined;
  try {
    guest = await makeGuest(parts, input);
    await guest.warmUp(warm, input);
    return guest;
  } catch (error) {
    await guest?.destroy();
    input.destroy();
    throw error;
  }
}

async function makeGuest(parts: SandboxParts, input?: InputPipe): Promise<GvisorGuest> {
  const { spec, tools, engine, capabilities, interpreters, cgroups } = parts;
  const { diskMb } = spec.policy.limits;
  const user = { uid: INSIDE_ID, gid: INSIDE_ID };
  const filter = seccompFilter(process.arch) ?? new Uint8Array();
  const init = {
    init: initProgram(process.arch) ?? new Uint8Array(),
    relay: relayProgram(process.arch) ?? new Uint8Array(),
    settings: initSettings({ program: user, relay: { uid: RELAY_ID, gid: RELAY_ID } }, filter),
  };
  cgroups?.hurry();
  const output = await takeOutputPipes();
  const prefixes = parts.root === undefined ? prefixesOf(interpreters) : [parts.root];
  const mount = mountPoint(prefixes);
  const root = parts.root === undefined ? ofHost(prefixes, tools, mount) : ofFolder(parts.root, tools, mount);
  const staging = createStage({
    enter: [tools.setpriv, '--pdeathsig', 'KILL', tools.unshare, ...APART],
    withUserNamespace: false,
    ...{ tools, user, diskMb: diskMb.value, mount, output },
    steps: root.steps,
    ...(input === undefined ? {} : { stdin: input.child }),
  });
  // Looked at below; a failure meanwhile is not an unhandled one.
  staging.catch(() => {});
  let groups: ProgramGroups | undefined;
  try {
    groups = await ProgramGroups.create(cgroups, spec, ({ memoryMb, processes }) => ({
      // The workspace's pages count as memory: a full disk must be ENOSPC and not the end of the program.
      memoryBytes: Math.ceil((memoryMb + diskMb.value + ENGINE_MEMORY_MB) * 1024 ** 2),
      processes: ENGINE_THREADS + THREADS_PER_PROCESS * processes,
    }));
    const stage = await staging;
    input?.closeChildEnd();
    root.furnish(stage);
    furnishControl(stage, init);
    const { rootReadonly } = root;
    return new GvisorGuest({
      tools,
      engine,
      spec,
      stage,
      groups,
      capabilities,
      interpreters,
      rootReadonly,
      folder: parts.root,
    });
  } catch (error) {
    const stage = await staging.catch(() => undefined);
    await stage?.first.launcher.abandon();
    output.destroy();
    stage?.close();
    await groups?.remove();
    throw error;
  }
}

interface RootParts {
  readonly steps: readonly LaunchStep[];
  furnish(stage: Stage): void;
  readonly rootReadonly: boolean;
}

function ofHost(prefixes: readonly string[], tools: Tools, mount: string): RootParts {
  const paths = controlPaths(mount);
  const root = hostRoot(readHostView(), prefixes, {
    isFolder: (path) => statSync(path).isDirectory(),
    read: (path) => readFileSync(path),
  });
  return {
    steps: [{ mountTable: mountTable(root, paths), file: paths.table, with: tools.mount }],
    furnish: (stage) => furnishRoot(stage, root),
    rootReadonly: true,
  };
}

function ofFolder(folder: string, tools: Tools, mount: string): RootParts {
  return {
    steps: givenRootSteps(folder, controlPaths(mount), tools.mount),
    furnish: () => {},
    // An old runsc, told to keep it read-only, mounts it again without nodev: then a device file that somebody
    // left in it is the host's device. The kernel's own mount has nothing that could be written to.
    rootReadonly: false,
  };
}
