import type { IsolationLevel } from './isolation.ts';

/** `none`: only a loopback of its own. `allowlist`: named hosts through our proxy. `open`: the host's network. */
export type NetworkMode = 'none' | 'allowlist' | 'open';

/** Whom code may reach through our proxy where the network is an allowlist. */
export interface EgressRules {
  /** Names, exact or `*.` before one for all below it, with `:port` where it is neither 80 nor 443. Empty: nobody. */
  readonly allowedDomains: readonly string[];
  /** The operator's addresses for names, as `address:port`: the only way to a loopback or private address. */
  readonly hostMap: Readonly<Record<string, string>>;
}

/** `private`: the program sees a root of its own. `host`: it sees the host's files as the caller does. */
export type FilesystemView = 'private' | 'host';

/** `contained`: no process of an execution can outlive it. `best-effort`: one that hides well might. */
export type ProcessContainment = 'contained' | 'best-effort';

/** The limits that every runtime either holds or says that it does not hold. */
export const LIMIT_NAMES = ['memoryMb', 'diskMb', 'processes', 'cpu', 'timeoutSec'] as const;

export type LimitName = (typeof LIMIT_NAMES)[number];

/** A wanted limit, and whether somebody asked for it or it is only our default. */
export interface WantedLimit {
  readonly value: number;
  /** True when nobody asked for it: a host that cannot hold it reports so instead of refusing. */
  readonly default: boolean;
}

/** `cpu` is in cores and may be absent: then no share of the processor is asked for. */
export type WantedLimits = { readonly [Name in Exclude<LimitName, 'cpu'>]: WantedLimit } & {
  readonly cpu?: WantedLimit;
};

/** What the caller insists on; a runtime that cannot hold one of these is refused. */
export interface Requirements {
  readonly isolation?: IsolationLevel;
  readonly network?: NetworkMode;
  readonly filesystem?: FilesystemView;
  readonly processes?: ProcessContainment;
  readonly seccomp?: boolean;
  /** Limits that must be held by something stronger than nothing, default or not. */
  readonly limits?: readonly LimitName[];
}

/** What code may do. Knows no runtime. */
export interface Policy {
  readonly network: NetworkMode;
  /** True when nobody asked for this network mode: a plain process then reports that it cannot hold it. */
  readonly networkIsDefault: boolean;
  /** Present exactly when the network is an allowlist. */
  readonly egress?: EgressRules;
  readonly limits: WantedLimits;
  readonly requires: Requirements;
}
