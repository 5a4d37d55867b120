import type { NetworkMode, Policy, Requirements, WantedLimit } from '../policy/policy.ts';

/** What a clause asks for, as a caller would; all else is a small default that nobody asked for. */
export interface PolicyWish {
  readonly network?: NetworkMode;
  /** With an allowlist: the domains that may be reached, and where each leads; nobody by default. */
  readonly hosts?: Readonly<Record<string, string>>;
  readonly memoryMb?: number;
  readonly diskMb?: number;
  readonly processes?: number;
  /** Cores. */
  readonly cpu?: number;
  readonly requires?: Requirements;
}

const DEFAULTS = { memoryMb: 256, diskMb: 16, processes: 64, timeoutSec: 20 } as const;

/** The policy of a sandbox for this wish. Pure. */
export function policyFor(wish: PolicyWish): Policy {
  const limit = (name: 'memoryMb' | 'diskMb' | 'processes'): WantedLimit => ({
    value: wish[name] ?? DEFAULTS[name],
    default: wish[name] === undefined,
  });
  return {
    network: wish.network ?? 'none',
    networkIsDefault: wish.network === undefined,
    ...(wish.network === 'allowlist'
      ? { egress: { allowedDomains: Object.keys(wish.hosts ?? {}), hostMap: wish.hosts ?? {} } }
      : {}),
    limits: {
      timeoutSec: { value: DEFAULTS.timeoutSec, default: true },
      memoryMb: limit('memoryMb'),
      diskMb: limit('diskMb'),
      processes: limit('processes'),
      ...(wish.cpu === undefined ? {} : { cpu: { value: wish.cpu, default: false } }),
    },
    requires: wish.requires ?? {},
  };
}
