import type { ProgramLimits, SandboxSpec } from '../runtime.ts';
import type { Cgroup, CgroupHost, CgroupLimits } from './cgroups/cgroup.ts';
import { ownedName } from './owner.ts';

/** What a driver makes of a policy's limits for a group of processes. */
export type GroupSizes = (limits: { readonly memoryMb: number; readonly processes: number }) => CgroupLimits;

/** The group that one program and all that it starts are in. */
export interface ProgramGroup {
  /** Absent where this host has no groups for us. */
  readonly cgroup: Cgroup | undefined;
  /** Ends every process in it and gives it up. */
  end(): Promise<void>;
}

/**
 * Of so many programs that have ended, the dead are watched until they are reaped. Those before them, more than come in
 * a few seconds, are taken to stay: what room they have is never taken back.
 */
const MAX_WATCHED = 256;

/**
 * The groups of one sandbox: one that holds the whole of it, and in it one for each program. So each program can be
 * held to less, counted by itself, and ended with all that it started while others run on. A sandbox for a single
 * program has only the one group.
 */
export class ProgramGroups {
  /** The group of the whole sandbox. */
  readonly whole: Cgroup | undefined;
  readonly #spec: SandboxSpec;
  readonly #sizes: GroupSizes;
  /** What the whole of it may have, the dead not counted. */
  readonly #processes: number;
  #count = 0;
  /** Groups of programs that have ended, with dead in them. */
  #ended: readonly Cgroup[] = [];
  /** The dead that are no longer watched, and those for whom there is room. */
  #unwatched = 0;
  #dead = 0;

  private constructor(
    whole: Cgroup | undefined,
    spec: SandboxSpec,
    { sizes, processes }: { readonly sizes: GroupSizes; readonly processes: number },
  ) {
    this.whole = whole;
    this.#spec = spec;
    this.#sizes = sizes;
    this.#processes = processes;
  }

  /** `extraProcesses` are ours, and take nothing from what programs may have. */
  static async create(
    host: CgroupHost | undefined,
    spec: SandboxSpec,
    sizes: GroupSizes,
    extraProcesses = 0,
  ): Promise<ProgramGroups> {
    const { memoryMb, processes, cpu } = spec.policy.limits;
    const held = sizes({ memoryMb: memoryMb.value, processes: processes.value });
    const all = held.processes + extraProcesses;
    const whole = await host?.create(ownedName(spec.id), {
      ...held,
      processes: all,
      ...(cpu === undefined ? {} : { cpuCores: cpu.value }),
    });
    return new ProgramGroups(whole, spec, { sizes, processes: all });
  }

  /** The group of the next program. */
  async next(limits: ProgramLimits = {}): Promise<ProgramGroup> {
    const { whole } = this;
    if (whole === undefined || hasOneProgram(this.#spec)) {
      return { cgroup: whole, end: async () => whole?.killAll() };
    }
    await this.#makeRoomForTheDead(whole);
    const cgroup = await this.#createWithin(whole, limits);
    return {
      cgroup,
      end: once(async () => {
        await cgroup.killAll();
        if (cgroup.counted() === 0) await cgroup.remove();
        else this.#ended = [...this.#ended, cgroup];
      }),
    };
  }

  async remove(): Promise<void> {
    for (const cgroup of this.#ended) await cgroup.remove();
    await this.whole?.remove();
  }

  /**
   * What a program leaves behind when it ends, its namespace's init at least, is reaped by the host's init: at once by
   * most, after seconds or never by some in containers. Until then it counts as a process of the sandbox, and takes
   * nothing from what programs may have.
   */
  async #makeRoomForTheDead(whole: Cgroup): Promise<void> {
    const counts = new Map(this.#ended.map((cgroup) => [cgroup, cgroup.counted()]));
    const watched = this.#ended.filter((cgroup) => counts.get(cgroup) !== 0).slice(-MAX_WATCHED);
    const given = this.#ended.filter((cgroup) => !watched.includes(cgroup));
    const sum = (cgroups: readonly Cgroup[]): number =>
      cgroups.reduce((total, cgroup) => total + (counts.get(cgroup) ?? 0), 0);
    this.#ended = watched;
    this.#unwatched += sum(given);
    const dead = this.#unwatched + sum(watched);
    if (dead !== this.#dead) whole.allowProcesses(this.#processes + dead);
    this.#dead = dead;
    for (const cgroup of given) await cgroup.remove();
  }

  #createWithin(whole: Cgroup, limits: ProgramLimits): Promise<Cgroup> {
    const { memoryMb, processes, cpu } = this.#spec.policy.limits;
    return whole.createWithin(`program${++this.#count}`, {
      ...this.#sizes({
        memoryMb: Math.min(limits.memoryMb ?? memoryMb.value, memoryMb.value),
        processes: Math.min(limits.processes ?? processes.value, processes.value),
      }),
      ...(cpu === undefined ? {} : { cpuCores: cpu.value }),
    });
  }
}

/** True for a sandbox in which nothing but one program will ever run. */
export function hasOneProgram({ singleUse, relay }: SandboxSpec): boolean {
  return singleUse === true && relay === undefined;
}

/** Whoever asks later waits for the same. */
function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}
