import type { LoadedSettings } from '../config/index.ts';
import { compileRules } from '../egress/match.ts';
import { SandboxError } from '../errors.ts';
import type { NetworkMode, Policy } from '../policy/policy.ts';
import { isEngineContainer } from '../runtimes/registry.ts';
import type { PolicyOptions } from './options.ts';

type NetworkOptions = Pick<PolicyOptions, 'network' | 'networkEnabled' | 'allowedDomains' | 'requires'>;

type NetworkPolicy = Pick<Policy, 'network' | 'networkIsDefault' | 'egress'>;

/**
 * What a sandbox may reach. Throws `INPUT_INVALID` for options that contradict each other and for domains that
 * cannot be meant. Pure.
 */
export function networkPolicy(
  loaded: Pick<LoadedSettings, 'settings' | 'origins' | 'trusted'>,
  options: NetworkOptions,
  runtime: string,
): NetworkPolicy {
  const asked = askedMode(options);
  const network = asked ?? modeOfSettings(loaded, runtime);
  const networkIsDefault = asked === undefined && network === 'none';
  if (network !== 'allowlist') return { network, networkIsDefault };
  const { allowedDomains, hostMap = {} } = loaded.settings;
  const egress = { allowedDomains: options.allowedDomains ?? allowedDomains, hostMap };
  compileRules(egress);
  return { network, networkIsDefault, egress };
}

/** What the options ask for; undefined where they say nothing. Throws `INPUT_INVALID` where they contradict each other. Pure. */
export function askedMode({
  network,
  networkEnabled,
  allowedDomains,
  requires,
}: NetworkOptions): NetworkMode | undefined {
  const domains = allowedDomains !== undefined && allowedDomains.length > 0;
  if (networkEnabled === false && domains) {
    throw contradiction('networkEnabled: false', 'allowedDomains');
  }
  if (networkEnabled === false && network !== undefined && network !== 'none') {
    throw contradiction('networkEnabled: false', `network: '${network}'`);
  }
  if (network !== undefined && network !== 'allowlist') {
    if (domains) throw contradiction(`network: '${network}'`, 'allowedDomains');
    if (networkEnabled === true && network === 'none') {
      throw contradiction(`network: 'none'`, 'networkEnabled: true');
    }
  }
  if (network !== undefined) return network;
  if (networkEnabled === false) return 'none';
  if (networkEnabled === true || allowedDomains !== undefined) return 'allowlist';
  return requires?.network;
}

/** An open network by default is for containers that a trusted setting chose. */
function modeOfSettings(
  { settings, origins, trusted }: Pick<LoadedSettings, 'settings' | 'origins' | 'trusted'>,
  runtime: string,
): NetworkMode {
  const byProject = origins.type.kind === 'project file' && settings.type === runtime;
  const inEngine = isEngineContainer(runtime, trusted.settings.dockerRuntime);
  if (settings.dockerNetworkEnabled && inEngine && !byProject) return 'open';
  return settings.networkEnabled ? 'allowlist' : 'none';
}

function contradiction(one: string, other: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${one} and ${other} contradict each other.`, {
    hint: 'Leave one of them out. To reach some hosts only: allowedDomains. To reach all: network: "open".',
  });
}
