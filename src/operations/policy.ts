import type { LoadedSettings, SettingKey } from '../config/index.ts';
import { mappingsOf } from '../egress/match.ts';
import { strictestIsolation } from '../policy/isolation.ts';
import type { Policy, WantedLimit } from '../policy/policy.ts';
import { isEngineContainer } from '../runtimes/registry.ts';
import type { Context } from './context.ts';
import { networkPolicy } from './networkPolicy.ts';
import type { PolicyOptions } from './options.ts';
import { onlyTightens } from './surface.ts';
import { tightened } from './tightened.ts';

export interface BuiltPolicy {
  readonly policy: Policy;
  /** Values that were clamped, in sentences. */
  readonly warnings: readonly string[];
}

/** `single`: for one program. `lasting`: until it is closed; nobody waits for it, and it gathers files. */
export type Lifetime = 'single' | 'lasting';

type Loaded = Pick<LoadedSettings, 'settings' | 'origins' | 'trusted'>;

type Options = PolicyOptions & { readonly timeout?: number };

/** The policy of one sandbox for whoever asks: a caller that may only tighten gets no more than the operator's settings. */
export function policyFor(
  { loaded, surface }: Pick<Context, 'loaded' | 'surface'>,
  options: Options,
  runtime: string,
  lifetime: Lifetime = 'single',
): BuiltPolicy {
  if (!onlyTightens(surface)) return buildPolicy(loaded, options, runtime, lifetime);
  const operators = buildPolicy(loaded, {}, runtime, lifetime).policy;
  const { allowedDomains, hostMap = {} } = loaded.settings;
  const cut = tightened({ policy: operators, allowedDomains }, options);
  const { policy, warnings } = buildPolicy(loaded, cut.options, runtime, lifetime);
  // An open network does not lead to what is mapped: only the operator's own domains do.
  const egress = policy.egress && { ...policy.egress, hostMap: mappingsOf({ allowedDomains, hostMap }) };
  return {
    policy: { ...policy, ...(egress === undefined ? {} : { egress }) },
    warnings: [...cut.warnings, ...warnings],
  };
}

/** Settings and options to the policy of one sandbox of the runtime of this name. Pure. */
export function buildPolicy(
  loaded: Loaded,
  options: Options,
  runtime: string,
  lifetime: Lifetime = 'single',
): BuiltPolicy {
  const { settings } = loaded;
  const timeout = limit(loaded, options.timeout, 'timeoutSec');
  const cut = timeout.value > settings.maxTimeoutSec;
  const disk = limit(loaded, options.diskMb, 'diskMb');
  const cpu = cpuLimit(loaded, options, runtime, lifetime);
  const isolation = [options.minIsolation, options.requires?.isolation, settings.minIsolation].reduce(
    strictestIsolation,
  );
  return {
    policy: {
      ...networkPolicy(loaded, options, runtime),
      limits: {
        timeoutSec: cut ? { ...timeout, value: settings.maxTimeoutSec } : timeout,
        memoryMb: memoryLimit(loaded, options, runtime, lifetime),
        diskMb: disk.default && lifetime === 'lasting' ? { ...disk, value: LASTING.diskMb } : disk,
        processes: limit(loaded, options.maxProcesses, 'maxProcesses'),
        ...(cpu === undefined ? {} : { cpu }),
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

/** What a sandbox that lives on gets where nobody asked. */
const LASTING = { diskMb: 1024, cpu: 0.5 } as const;

/** Cores that a single run gets where nobody asked; on other runtimes nobody then asks for a share. */
const CPU: Readonly<Record<string, number>> = { docker: 0.5, gvisor: 0.5 };

function cpuLimit(
  loaded: Loaded,
  { cpu }: Options,
  runtime: string,
  lifetime: Lifetime,
): WantedLimit | undefined {
  const keys: SharedKey[] = inEngine(loaded, runtime) ? ['dockerCpuLimit', 'cpuLimit'] : ['cpuLimit'];
  return chosen(loaded, cpu, keys, lifetime === 'lasting' ? LASTING.cpu : CPU[runtime]);
}

function memoryLimit(
  loaded: Loaded,
  { memoryMb }: Options,
  runtime: string,
  lifetime: Lifetime,
): WantedLimit {
  const general = limit(loaded, memoryMb, 'memoryMb');
  if (!inEngine(loaded, runtime)) return general;
  const { settings } = loaded.trusted;
  const own = runtime === 'docker' && lifetime === 'single';
  const standard = own ? settings.dockerMemoryLimitMb : settings.memoryMb;
  return chosen(loaded, memoryMb, ['dockerMemoryLimitMb', 'memoryMb'], standard) ?? general;
}

function inEngine({ settings }: Loaded, runtime: string): boolean {
  return isEngineContainer(runtime, settings.dockerRuntime);
}

type LimitKey = SettingKey & ('timeoutSec' | 'memoryMb' | 'diskMb' | 'maxProcesses');

function limit({ settings, origins }: Loaded, asked: number | undefined, key: LimitKey): WantedLimit {
  return {
    value: asked ?? settings[key],
    default: asked === undefined && origins[key].kind === 'default',
  };
}

type SharedKey = SettingKey & ('memoryMb' | 'dockerMemoryLimitMb' | 'cpuLimit' | 'dockerCpuLimit');

/**
 * One limit with more than one source. What a caller gave holds, then the first of `keys` that somebody set,
 * then `standard`. Values of a project file only lower that, whatever name they stand under.
 */
function chosen(
  { settings, origins, trusted }: Loaded,
  asked: number | undefined,
  keys: readonly SharedKey[],
  standard: number | undefined,
): WantedLimit | undefined {
  if (asked !== undefined) return { value: asked, default: false };
  const set = keys.filter((key) => trusted.origins[key].kind !== 'default');
  const first = set.find((key) => isCallers(trusted.origins[key].kind)) ?? set[0];
  const held = first === undefined ? standard : trusted.settings[first];
  const lower = keys.flatMap((key) => (origins[key].kind === 'project file' ? (settings[key] ?? []) : []));
  const value = Math.min(held ?? Number.POSITIVE_INFINITY, ...lower);
  if (value === Number.POSITIVE_INFINITY) return undefined;
  return { value, default: first === undefined && !lower.includes(value) };
}

function isCallers(kind: string): boolean {
  return kind === 'flag' || kind === 'option';
}
