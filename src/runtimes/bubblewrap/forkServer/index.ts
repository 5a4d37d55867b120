/** The fork servers of one runtime: started when they are first of use, replaced after a while, ended when nobody needs them. */
import { closeSync, openSync, write, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { isSandboxError, SandboxError } from '../../../errors.ts';
import type { CgroupHost } from '../../host/cgroups/cgroup.ts';
import { Folder } from '../../host/folder.ts';
import { type FoundInterpreters, type HostInterpreter, prefixesOf } from '../../host/interpreters.ts';
import { firstChild, sendIfRunning, untilGone } from '../../host/namespaceInit.ts';
import { readProc } from '../../host/procfs.ts';
import { ProgramGroups } from '../../host/programGroups.ts';
import { OPEN_FILES, processorSeconds } from '../../host/rlimits.ts';
import { inodesFor } from '../../host/stage.ts';
import type { Capabilities, Guest, SandboxSpec, WarmWish } from '../../runtime.ts';
import { groupSizes } from '../groupSizes.ts';
import type { Tools } from '../tools.ts';
import { assertHeldBy, notHeld } from './facts.ts';
import { ForkedProgram } from './forkedProgram.ts';
import { ForkedGuest } from './guest.ts';
import type { ChildLimits } from './protocol.ts';
import { type SendOff, sendOffForked, sendOffWaiting } from './sendOff.ts';
import type { ForkServer } from './server.ts';
import { startServer } from './startServer.ts';
import { becomeWaitingNode } from './waitingNode.ts';

/** What is wished for, and what it is made of. */
export interface ForkWish {
  readonly spec: SandboxSpec;
  readonly warm: WarmWish;
  readonly interpreters: FoundInterpreters;
  /** The one that is forked: it runs in the view of these interpreters. */
  readonly python: HostInterpreter;
}

export interface ForkServersParts {
  /** How one is started; `startServer` where it is absent. */
  readonly start?: typeof startServer;
  readonly tools: Tools;
  readonly capabilities: Capabilities;
  readonly cgroups: CgroupHost | undefined;
}

/**
 * All that one server makes have its layout of memory and its seeds for hashing: so it is replaced after so many, or
 * after so long.
 */
const MOST_CHILDREN = 2000;
const OLDEST_MS = 10 * 60_000;
/** Without anything to keep for so long it is ended. */
const IDLE_MS = 60_000;
/** So often in a row may a server fail before no more is started. */
const MOST_FAILURES = 3;

interface Kept {
  readonly server: Promise<ForkServer>;
  readonly startedAt: number;
  /** How much that it made is still there, or is being made. */
  live: number;
  made: number;
  idle?: NodeJS.Timeout;
}

export class ForkServers {
  readonly #parts: ForkServersParts;
  readonly #current = new Map<string, Kept>();
  readonly #all = new Set<Kept>();
  #failures = 0;

  constructor(parts: ForkServersParts) {
    this.#parts = parts;
  }

  /**
   * A guest that waits for its program. Undefined where no fork server works here, or not this time: another way to wait
   * is as good. Throws `CONFIG_INVALID` for a module that cannot be preloaded.
   */
  async create(wish: ForkWish): Promise<Guest | undefined> {
    if (this.#failures >= MOST_FAILURES) return undefined;
    const kept = this.#take(wish);
    const hasWorked = kept.made > 0;
    try {
      return await this.#createBy(kept, wish);
    } catch (error) {
      if (!isSandboxError(error) || error.code !== 'SANDBOX_FAILED') throw error;
      this.#drop(kept);
      // It may have been killed meanwhile: a new one shall show whether they work here.
      if (hasWorked) return this.create(wish);
      this.#failures++;
      return undefined;
    }
  }

  /** Ends every server that keeps nothing. Others end with the last that they keep. */
  async rest(): Promise<void> {
    await Promise.all([...this.#all].filter(({ live }) => live === 0).map((kept) => this.#end(kept)));
  }

  async #createBy(kept: Kept, wish: ForkWish): Promise<Guest> {
    clearTimeout(kept.idle);
    kept.live++;
    const released = (): void => this.#released(kept);
    try {
      const guest = await this.#make(await kept.server, wish, released);
      this.#failures = 0;
      if (++kept.made >= MOST_CHILDREN) this.#drop(kept);
      return guest;
    } catch (error) {
      released();
      throw error;
    }
  }

  #take({ spec, warm, interpreters, python }: ForkWish): Kept {
    const preload = warm.language === 'python' ? warm.preload : [];
    const network = spec.policy.network === 'open' ? 'inherited' : 'own';
    const found = [...interpreters].map(([name, one]) => [name, one instanceof SandboxError ? '' : one.path]);
    const key = JSON.stringify([network, preload, python.path, found, prefixesOf(interpreters)]);
    const known = this.#current.get(key);
    if (known !== undefined && Date.now() - known.startedAt < OLDEST_MS) return known;
    if (known !== undefined) this.#drop(known);
    const { tools, capabilities, start = startServer } = this.#parts;
    const server = start({ tools, capabilities, interpreters, python, network, preload });
    const kept: Kept = { server, startedAt: Date.now(), live: 0, made: 0 };
    server.then(
      async ({ ended }) => {
        await ended;
        this.#drop(kept);
      },
      () => this.#drop(kept),
    );
    this.#current.set(key, kept);
    this.#all.add(kept);
    return kept;
  }

  /** It makes nothing more, and ends with the last that it keeps. */
  #drop(kept: Kept): void {
    for (const [key, one] of this.#current) if (one === kept) this.#current.delete(key);
    if (kept.live === 0) void this.#end(kept);
  }

  #released(kept: Kept): void {
    kept.live--;
    if (kept.live > 0) return;
    const isCurrent = [...this.#current.values()].includes(kept);
    if (!isCurrent) void this.#end(kept);
    else kept.idle = setTimeout(() => void this.#end(kept), IDLE_MS).unref();
  }

  async #end(kept: Kept): Promise<void> {
    clearTimeout(kept.idle);
    this.#all.delete(kept);
    for (const [key, one] of this.#current) if (one === kept) this.#current.delete(key);
    const server = await kept.server.catch(() => undefined);
    await server?.close();
  }

  async #make(
    server: ForkServer,
    { spec, warm: wish, interpreters }: ForkWish,
    released: () => void,
  ): Promise<Guest> {
    const { capabilities, cgroups } = this.#parts;
    const groups = await ProgramGroups.create(cgroups, spec, groupSizes(spec));
    let program: ForkedProgram | undefined;
    let folder: Folder | undefined;
    try {
      const preparation = {
        rehearses: wish.language === 'python' && !wish.isAwaited,
        isHeld: wish.language !== 'javascript' && !wish.isAwaited,
      };
      const made = await server.make(preparation, childLimits(spec, capabilities));
      program = new ForkedProgram(made);
      const { keeper, uid } = made;
      const [first, ...others] = groups.whole?.entrances ?? [];
      // The kernel may make whoever moves a process first wait: not this thread.
      if (first !== undefined) await writeAside(first, String(keeper.pid));
      for (const entrance of others) writeFileSync(entrance, String(keeper.pid));
      await program.prepare();
      groups.whole?.refill();
      const pid = firstChild(keeper.pid);
      if (pid === undefined) throw notHeld('is gone');
      folder = Folder.open(`/proc/${pid}/fd/${ROOT_FD}/.`);
      const sendOff = await letWait(program, { folder, interpreters, wish });
      assertHeldBy(readProc(`${pid}/status`) ?? '', uid);
      return new ForkedGuest({
        ...{ spec, wish, capabilities, interpreters, groups, program, folder, sendOff, uid, released },
      });
    } catch (error) {
      if (program !== undefined) {
        sendIfRunning(program.keeper, 'SIGKILL');
        await untilGone(program.keeper);
        program.close();
      }
      folder?.close();
      await groups.whole?.killAll();
      await groups.remove();
      throw error;
    }
  }
}

/** Writes on a thread of its own; to open and to close a file of the kernel's takes no time. */
async function writeAside(path: string, text: string): Promise<void> {
  const file = openSync(path, 'w');
  try {
    await promisify(write)(file, text);
  } finally {
    closeSync(file);
  }
}

/** Where a program that waits has the root of its file system (`ROOT` in forkServer.py). */
const ROOT_FD = 5;

/** How it will be told what to become, and what it becomes already. */
async function letWait(
  program: ForkedProgram,
  place: { readonly folder: Folder; readonly interpreters: FoundInterpreters; readonly wish: WarmWish },
): Promise<SendOff> {
  switch (place.wish.language) {
    case 'python':
      return sendOffForked(program, 'python');
    case 'shell':
      return sendOffForked(program, 'command');
    case 'javascript':
      return sendOffWaiting(program, await becomeWaitingNode(program, place), place.folder);
  }
}

function childLimits({ policy }: SandboxSpec, capabilities: Capabilities): ChildLimits {
  const { diskMb, memoryMb, processes, timeoutSec } = policy.limits;
  return {
    diskKb: Math.ceil(diskMb.value * 1024),
    inodes: inodesFor(diskMb.value),
    openFiles: OPEN_FILES,
    fileBytes: Math.ceil(diskMb.value * 1024) * 1024,
    cpuSec: processorSeconds({ timeoutSec: timeoutSec.value, cores: availableParallelism() }),
    ...(capabilities.limits.memoryMb === 'rlimit'
      ? { dataBytes: Math.ceil(memoryMb.value * 1024) * 1024 }
      : {}),
    ...(capabilities.limits.processes === 'rlimit' ? { processes: processes.value } : {}),
  };
}
