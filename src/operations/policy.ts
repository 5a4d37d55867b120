import type { LoadedSettings, SettingKey } from '../config/index.ts';
import { strictestIsolation } from '../policy/isolation.ts';
import type { Policy, WantedLimit } from '../policy/policy.ts';
import type { PolicyOptions } from './options.ts';

export interface BuiltPolicy {
  readonly policy: Policy;
  /** Values that were clamped, in sentences. */
  readonly warnings: readonly string[];
}

/** What nobody asked for, where it differs by how long the sandbox lives. */
export interface PolicyDefaults {
  readonly diskMb?: number;
  readonly cpu?: number;
}

/** Settings and options to the policy of one sandbox. Pure. */
export function buildPolicy(
  { settings, origins }: Pick<LoadedSettings, 'settings' | 'origins'>,
  options: PolicyOptions & { readonly timeout?: number },
  defaults: PolicyDefaults = {},
): BuiltPolicy {
  const limit = (asked: number | undefined, key: SettingKey & keyof typeof settings): WantedLimit => ({
    value: asked ?? (settings[key] as number),
    default: asked === undefined && origins[key].kind === 'default',
  });
  const timeout = limit(options.timeout, 'timeoutSec');
  const cut = timeout.value > settings.maxTimeoutSec;
  const disk = limit(options.diskMb, 'diskMb');
  const askedCpu = options.cpu ?? settings.cpuLimit;
  const cpu = askedCpu ?? defaults.cpu;
  const isolation = [options.minIsolation, options.requires?.isolation, settings.minIsolation].reduce(
    strictestIsolation,
  );
  return {
    policy: {
      network: options.network ?? options.requires?.network ?? 'none',
      networkIsDefault: options.network === undefined && options.requires?.network === undefined,
      limits: {
        timeoutSec: cut ? { ...timeout, value: settings.maxTimeoutSec } : timeout,
        memoryMb: limit(options.memoryMb, 'memoryMb'),
        diskMb: disk.default ? { ...disk, value: defaults.diskMb ?? disk.value } : disk,
        processes: limit(options.maxProcesses, 'maxProcesses'),
        ...(cpu === undefined ? {} : { cpu: { value: cpu, default: askedCpu === undefined } }),
      },
      requires: { ...options.requires, ...(isolation === undefined ? {} : { isolation }) },
    },
    warnings: cut
      ? [
          `The timeout of ${timeout.value} s was cut to ${settings.maxTimeoutSec} s (SANDBOX_MAX_TIMEOUT_SEC).`,
        ]
      : [],
  };
}
