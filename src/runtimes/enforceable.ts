import { SandboxError } from '../errors.ts';
import { type IsolationLevel, isAtLeast } from '../policy/isolation.ts';
import type { LimitName, Policy } from '../policy/policy.ts';
import type { Capabilities, Enforced } from './runtime.ts';

/** Something that was asked for and that this runtime cannot hold. */
export interface Unmet {
  readonly what: string;
  readonly fix: string;
}

/** Everything in the policy that these capabilities cannot hold in full; empty means that it may run. Pure. */
export function unmetBy(capabilities: Capabilities, policy: Policy): Unmet[] {
  const { requires, limits } = policy;
  const unmet: Unmet[] = [];
  if (requires.isolation !== undefined && !isAtLeast(capabilities.isolation, requires.isolation)) {
    unmet.push({
      what: `isolation of at least "${requires.isolation}" (it gives "${capabilities.isolation}")`,
      fix: isolationFix(requires.isolation),
    });
  }
  const network = requires.network ?? (policy.networkIsDefault ? undefined : policy.network);
  if (network !== undefined && !capabilities.network.includes(network)) {
    unmet.push({
      what: `network "${network}" (it gives ${capabilities.network.map((mode) => `"${mode}"`).join(' or ')})`,
      fix: network === 'allowlist' ? ALLOWLIST : NAMESPACES,
    });
  }
  if (requires.filesystem === 'private' && capabilities.filesystem !== 'private') {
    unmet.push({ what: 'a private file system', fix: NAMESPACES });
  }
  if (requires.processes === 'contained' && capabilities.processes !== 'contained') {
    unmet.push({ what: 'that no process outlives its run', fix: NAMESPACES });
  }
  if (requires.seccomp === true && !capabilities.seccomp) {
    unmet.push({ what: 'a seccomp filter', fix: NAMESPACES });
  }
  for (const name of Object.keys(capabilities.limits) as LimitName[]) {
    const asked = limits[name]?.default === false || requires.limits?.includes(name);
    if (asked && capabilities.limits[name] === 'none') {
      const value = limits[name]?.value;
      unmet.push({
        what: `the limit ${name}${value === undefined ? '' : ` of ${value}`}`,
        fix: LIMIT_FIX[name],
      });
    } else if (requires.limits?.includes(name) && limits[name] === undefined) {
      unmet.push({ what: `the limit ${name}, for which no value is set`, fix: `Set a value for ${name}.` });
    }
  }
  return unmet;
}

/** Throws `POLICY_NOT_ENFORCEABLE` with each reason and its fix. */
export function assertEnforceable(
  runtime: string,
  capabilities: Capabilities,
  policy: Policy,
  whyNotMore?: string,
): void {
  const unmet = unmetBy(capabilities, policy);
  if (unmet.length === 0) return;
  throw new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    [`The runtime "${runtime}" cannot hold here: ${unmet.map(({ what }) => what).join('; ')}.`, whyNotMore]
      .filter(Boolean)
      .join(' '),
    { hint: [...new Set(unmet.map(({ fix }) => fix))].join(' '), details: { runtime, unmet } },
  );
}

/** Throws `SANDBOX_FAILED` when a sandbox turned out to be held by less than was promised for it. */
export function assertHeld(runtime: string, enforced: Enforced, policy: Policy): void {
  const held: Capabilities = {
    ...enforced,
    network: [enforced.network],
    limits: {
      memoryMb: enforced.limits.memoryMb.by,
      diskMb: enforced.limits.diskMb.by,
      processes: enforced.limits.processes.by,
      cpu: enforced.limits.cpu.by,
      timeoutSec: enforced.limits.timeoutSec.by,
    },
  };
  const unmet = unmetBy(held, policy);
  if (unmet.length === 0) return;
  throw new SandboxError(
    'SANDBOX_FAILED',
    `The sandbox of "${runtime}" does not hold what it promised: ${unmet.map(({ what }) => what).join('; ')}. Nothing was run.`,
    { hint: `Run: glovebox doctor --verify ${runtime}`, details: { runtime, unmet } },
  );
}

const NAMESPACES =
  'Use the runtime "bubblewrap" (SANDBOX_TYPE=bubblewrap; apt-get install bubblewrap), or do not ask for it.';

const ALLOWLIST =
  'Use a runtime that has an allowlist: bubblewrap, docker or gvisor (SANDBOX_TYPE=bubblewrap), or do not ask for it.';

function isolationFix(level: IsolationLevel): string {
  switch (level) {
    case 'container':
      return 'Use the runtime "docker" or "gvisor" (SANDBOX_TYPE=docker), or do not ask for it.';
    case 'kernel':
      return 'Use the runtime "gvisor" (SANDBOX_TYPE=gvisor), or do not ask for it.';
    case 'machine':
      return 'No runtime of this version gives "machine"; "kernel" is the strongest (SANDBOX_MIN_ISOLATION=kernel).';
    default:
      return NAMESPACES;
  }
}

/** An engine has its cgroups from whoever runs it. */
const ENGINE =
  'For an engine without root, hand its user the controllers: systemctl edit user@.service, Delegate=cpu cpuset io memory pids.';

const LIMIT_FIX: Readonly<Record<LimitName, string>> = {
  memoryMb: `Run where a cgroup is writable, or leave the memory limit at its default. ${ENGINE}`,
  diskMb: 'Use the runtime "bubblewrap", or leave the disk limit at its default.',
  processes: `Run where a cgroup is writable, or use the runtime "bubblewrap". ${ENGINE}`,
  cpu: `Run where a cgroup with the cpu controller is writable (as root, or in a delegated cgroup), or leave the cpu limit at its default. ${ENGINE}`,
  timeoutSec: 'Every runtime holds the timeout.',
};
