/** One group of processes that the kernel limits, counts and can end as a whole. */
export interface Cgroup {
  /** Files that a process writes `0` to in order to enter. */
  readonly entrances: readonly string[];
  /** The limits as the kernel holds them, read back after they were set. */
  readonly held: HeldLimits;
  /** What has been used and ended in it so far. */
  totals(): CgroupTotals;
  /** The most at one time since the last `resetPeaks`. */
  peaks(): CgroupPeaks;
  resetPeaks(): void;
  /**
   * Gives back what has been used of the share of processor time by now. The kernel refills where the limit is set, to what
   * it was too (`tg_set_cfs_bandwidth` in kernel/sched/core.c).
   */
  refill(): void;
  /** How many processes count against its limit now, the dead that nobody has reaped yet among them. */
  counted(): number;
  /** Another limit on its processes than the one that it was made with. */
  allowProcesses(count: number): void;
  /** Ends every process in it, however fast they fork, and resolves when none is left. */
  killAll(): Promise<void>;
  /** Removes the group; its processes must be gone, and the groups in it. */
  remove(): Promise<void>;
  /**
   * A group in this one, held by both: then every process must be in one of these, and none in this one itself. The
   * name is letters and digits.
   */
  createWithin(name: string, limits: CgroupLimits): Promise<Cgroup>;
}

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpuCores?: number;
}

export interface HeldLimits {
  readonly memoryBytes: number | null;
  readonly processes: number | null;
  readonly cpuCores: number | null;
}

export interface CgroupTotals {
  readonly oomKills: number;
  readonly cpuSec?: number;
}

export interface CgroupPeaks {
  readonly peakMemoryBytes?: number;
  readonly peakProcesses?: number;
}

/** What the cgroups of this host can hold for us; a controller that is missing is in no set. */
export interface CgroupHost {
  readonly version: 1 | 2;
  readonly controllers: ReadonlySet<Controller>;
  create(name: string, limits: CgroupLimits): Promise<Cgroup>;
  /**
   * Says that a process will enter a group soon. The first such move after a while waits for the kernel (an
   * RCU grace period, some ten milliseconds); moving ourselves to where we are already, which changes
   * nothing, starts that wait early, beside everything else that is to be made.
   */
  hurry(): void;
  /** Ends and removes groups beside our own whose owner is dead: quick enough for every start. */
  sweepHere(): Promise<void>;
  /** The same in the whole hierarchy; resolves to how many. */
  sweepEverywhere(): Promise<number>;
}

export type Controller = 'memory' | 'pids' | 'cpu';
