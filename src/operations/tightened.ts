/** Options of a caller that may only tighten what the operator has set. Pure. */
import { compileRules, narrowerDomains } from '../egress/match.ts';
import { SandboxError } from '../errors.ts';
import type { LimitName, NetworkMode, Policy } from '../policy/policy.ts';
import { askedMode } from './networkPolicy.ts';
import type { PolicyOptions } from './options.ts';

type Options = PolicyOptions & { readonly timeout?: number };

export interface Tightened<T> {
  readonly options: T;
  /** What was not taken as it was asked for, in whole sentences. */
  readonly warnings: readonly string[];
}

/** What the operator's own settings come to. */
export interface Operators {
  readonly policy: Pick<Policy, 'limits' | 'network'>;
  readonly allowedDomains: readonly string[];
}

const LIMITS = {
  timeout: ['timeoutSec', 's'],
  memoryMb: ['memoryMb', 'MB'],
  diskMb: ['diskMb', 'MB'],
  maxProcesses: ['processes', 'processes'],
  cpu: ['cpu', 'cores'],
} as const satisfies Readonly<Record<string, readonly [LimitName, string]>>;

/**
 * The options with every limit cut to that of the operator, and the network to what the operator lets anybody reach.
 * Throws `INPUT_INVALID` for options that contradict each other or cannot be meant, and `POLICY_DENIED` where a network is required that the
 * operator does not allow.
 */
export function tightened<T extends Options>(operators: Operators, options: T): Tightened<T> {
  const limited = lowered(operators.policy.limits, options);
  const network = narrowed(operators, options);
  if (network === undefined)
    return { options: { ...options, ...limited.options }, warnings: limited.warnings };
  const { network: _mode, networkEnabled: _enabled, allowedDomains: _domains, ...others } = options;
  return {
    options: { ...others, ...limited.options, ...network.options } as T,
    warnings: [...limited.warnings, ...network.warnings],
  };
}

function lowered(limits: Policy['limits'], options: Options): Tightened<Partial<Options>> {
  const warnings: string[] = [];
  const cut: Partial<Record<keyof typeof LIMITS, number>> = {};
  for (const option of Object.keys(LIMITS) as (keyof typeof LIMITS)[]) {
    const [name, unit] = LIMITS[option];
    const asked = options[option];
    const most = limits[name]?.value;
    if (asked === undefined || most === undefined || asked <= most) continue;
    cut[option] = most;
    warnings.push(cutWarning(option, asked, most, unit));
  }
  return { options: cut, warnings };
}

/** A sentence about a value that the operator does not allow. */
export function cutWarning(name: string, asked: number, most: number, unit: string): string {
  return `The ${name} of ${asked} ${unit} was cut to ${most} ${unit}, which is what the operator allows.`;
}

/** What is left of a network that is asked for; undefined where all of it is allowed. */
function narrowed(
  { policy, allowedDomains }: Operators,
  options: Options,
): Tightened<Pick<Options, 'network' | 'allowedDomains'>> | undefined {
  const asked = askedMode(options);
  if (asked === undefined || asked === 'none' || policy.network === 'open') return undefined;
  const wanted = (asked === 'open' ? undefined : options.allowedDomains) ?? allowedDomains;
  compileRules({ allowedDomains: wanted, hostMap: {} });
  const domains = narrowerDomains(allowedDomains, wanted);
  const left = wanted.filter((domain) => !domains.includes(domain));
  const isOpen = asked === 'open';
  const required = options.requires?.network;
  if (required === 'open' || (required === 'allowlist' && domains.length === 0)) throw notAllowed(required);
  const warnings = [
    ...(isOpen ? ['The operator allows no open network: only allowed domains can be reached.'] : []),
    ...(left.length === 0
      ? []
      : [`The operator does not allow all of what was asked for: ${left.join(', ')}.`]),
    ...(domains.length === 0 ? ['Nothing can be reached: the operator allows no such domain.'] : []),
  ];
  if (domains.length === 0) return { options: { network: 'none' }, warnings };
  return { options: { network: 'allowlist', allowedDomains: domains }, warnings };
}

function notAllowed(required: NetworkMode): SandboxError {
  return new SandboxError(
    'POLICY_DENIED',
    `The operator does not allow the network that is required (${required}).`,
    {
      hint: 'Do without it, or have the operator allow domains (network.allowed_domains).',
      details: { required },
    },
  );
}
