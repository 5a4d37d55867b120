import { SandboxError } from '../errors.ts';
import { findLanguage } from '../languages/index.ts';
import { INSTALLERS, registryOf } from '../languages/installers/index.ts';
import { type Installer, REGISTRY_NAMES, type RegistryName } from '../languages/installers/installer.ts';
import { type PackageWish, parsePackage } from '../languages/packageNames.ts';
import type { InstallResult } from '../result/installResult.ts';
import type { OnOutput } from '../result/output.ts';
import { installMessage } from '../sandbox/installMessage.ts';
import type { Installed } from '../sandbox/installPackage.ts';
import { newExecutionId } from '../sandbox/program.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { checkOptions } from './checkOptions.ts';
import type { Context } from './context.ts';
import type { Opened } from './execute.ts';
import { allowedLanguage } from './languages.ts';
import { describeNetwork } from './oversight/describe.ts';
import { recorded } from './oversight/sandboxes.ts';
import type { Registry } from './registries.ts';
import { networkRecord } from './results.ts';
import { onlyTightens } from './surface.ts';
import { cutWarning } from './tightened.ts';

export interface InstallOptions {
  /** `pypi` or `npm`; otherwise what the sandbox's language has. */
  readonly registry?: RegistryName;
  /** Seconds by the wall clock; 120 by default. Cut to `SANDBOX_MAX_TIMEOUT_SEC`. */
  readonly timeout?: number;
  /** Cancels it: what it has done so far stays. */
  readonly signal?: AbortSignal;
  /** What the package manager prints, as it comes. */
  readonly onOutput?: OnOutput;
  /** Whether code of packages may run while they are installed: npm's install scripts, pip's builds from source code. */
  readonly allowScripts?: boolean;
  /** Told when it is its turn, and its output can be paged. */
  readonly onStart?: (started: { readonly executionId: string }) => void;
}

const TIMEOUT_SEC = 120;

/**
 * Installs one package in a live sandbox, from its registry and nowhere else. One that fails is a result; throws
 * `INPUT_INVALID` for what is no package, and `POLICY_DENIED` where the settings switch it off.
 */
export async function installPackage(
  context: Context,
  { sandbox, env }: Pick<Opened, 'sandbox' | 'env'>,
  language: string,
  name: string,
  options: InstallOptions = {},
): Promise<InstallResult> {
  checkOptions('install', options);
  const { settings } = context.loaded;
  if (!settings.packagesEnabled) throw switchedOff();
  const installer = installerFor(language, options.registry);
  allowedLanguage(context, installer.language);
  const wish = checkPackage(installer, name);
  assertHasAllowlist(sandbox);
  const registry = await context.registries.find(installer.registry);
  const { addresses, hosts, certificates } = registry;
  const asked = options.timeout ?? TIMEOUT_SEC;
  const most = onlyTightens(context.surface)
    ? Math.max(TIMEOUT_SEC, settings.timeoutSec)
    : Number.POSITIVE_INFINITY;
  const timeoutSec = Math.min(asked, most, settings.maxTimeoutSec);
  const executionId = context.executionId?.() ?? newExecutionId();
  const allowScripts = options.allowScripts ?? false;
  const question = () => ({
    parameters: describeInstallation({ installer, package: wish, registry, allowScripts, timeoutSec }),
    signal: options.signal,
  });
  const install = () =>
    sandbox.install({
      ...{ installer, package: wish, addresses, timeoutSec, allowScripts },
      egress: { allowedDomains: hosts, hostMap: settings.hostMap ?? {} },
      ...(certificates === undefined ? {} : { certificates }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(options.onOutput === undefined ? {} : { onOutput: options.onOutput }),
      executionId,
      onStart: () => options.onStart?.({ executionId }),
    });
  const installed = await recorded(context, { sandbox, env }, 'install_package', question, install, describe);
  const { outcome, log, version, network } = installed;
  const memoryMb = sandbox.policy.limits.memoryMb.value;
  return {
    ok: outcome.outcome === 'exited' && outcome.exitCode === 0,
    package: wish.text,
    registry: installer.registry,
    ...(version === undefined ? {} : { version }),
    message: installMessage({ package: wish.text, installer, timeoutSec, memoryMb, installed }),
    log,
    duration: outcome.durationSec,
    exitCode: outcome.exitCode,
    outcome: outcome.outcome,
    network: networkRecord(network),
    executionId,
    sandboxId: sandbox.id,
    ...(asked > timeoutSec
      ? {
          warnings: [
            timeoutSec === most
              ? cutWarning('timeout', asked, most, 's')
              : `The timeout of ${asked} s was cut to ${timeoutSec} s (SANDBOX_MAX_TIMEOUT_SEC).`,
          ],
        }
      : {}),
  };
}

interface Installation {
  readonly installer: Installer;
  readonly package: PackageWish;
  readonly registry: Pick<Registry, 'addresses' | 'hosts'>;
  readonly allowScripts: boolean;
  readonly timeoutSec: number;
}

/** What a person is asked about. A registry that is not the one that everybody uses has its address for a name. */
export function describeInstallation({
  installer: { language, registry, standard },
  package: { text },
  registry: { addresses, hosts },
  allowScripts,
  timeoutSec,
}: Installation): Readonly<Record<string, unknown>> {
  const unusual = addresses.find((address) => withoutSlash(address) !== withoutSlash(standard.address));
  return {
    ...{ package: text, language, registry: unusual ?? registry, addresses, hosts },
    ...{ allow_scripts: allowScripts, timeout_sec: timeoutSec },
  };
}

function withoutSlash(address: string): string {
  return address.replace(/\/$/, '');
}

function describe({ outcome, version, network }: Installed): Readonly<Record<string, unknown>> {
  return {
    ...{ outcome: outcome.outcome, exit_code: outcome.exitCode, duration: outcome.durationSec },
    ...(version === undefined ? {} : { version }),
    network: describeNetwork(networkRecord(network)),
  };
}

function installerFor(language: string, asked: RegistryName | undefined): Installer {
  const registry = asked ?? registryOf(findLanguage(language).name);
  if (registry !== undefined) return INSTALLERS[registry];
  throw new SandboxError('INPUT_INVALID', `There is no registry for packages of ${language}.`, {
    hint: `Name one: ${REGISTRY_NAMES.join(' or ')}.`,
    details: { language },
  });
}

const EXAMPLES: Readonly<Record<RegistryName, string>> = {
  pypi: 'requests, requests==2.31.0 or "requests[socks]>=2,<3"',
  npm: 'lodash, lodash@4.17.21 or @scope/name@^1.0.0',
};

function checkPackage({ registry, language }: Installer, name: unknown): PackageWish {
  const wish = typeof name === 'string' ? parsePackage(language, name) : undefined;
  if (wish !== undefined) return wish;
  const shown =
    typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : `A value of type ${typeof name}`;
  throw new SandboxError('INPUT_INVALID', `${shown} is no package of ${registry}.`, {
    hint: `Give one name with an optional version and without spaces, as in ${EXAMPLES[registry]}: no options, addresses, paths or repositories.`,
    details: { registry },
  });
}

/** Without one an installation would have either no network or all of it. */
function assertHasAllowlist({ runtime, networks }: Sandbox): void {
  if (networks.includes('allowlist')) return;
  throw new SandboxError(
    'POLICY_NOT_ENFORCEABLE',
    `The runtime "${runtime}" cannot let a sandbox reach a registry and nobody else, so packages are not installed in it.`,
    {
      hint: 'Use a runtime that has an allowlist here: glovebox doctor says which do.',
      details: { runtime },
    },
  );
}

function switchedOff(): SandboxError {
  return new SandboxError('POLICY_DENIED', 'The settings do not allow packages to be installed.', {
    hint: 'An operator changes this with SANDBOX_PACKAGES_ENABLED. What is needed always can be put into the image: glovebox images build --packages.',
  });
}
