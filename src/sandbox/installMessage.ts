import type { NetworkDecision } from '../egress/decision.ts';
import { type Installer, NO_TOOL } from '../languages/installers/installer.ts';
import type { Installed } from './installPackage.ts';

export interface Told {
  readonly package: string;
  readonly installer: Installer;
  readonly timeoutSec: number;
  readonly memoryMb: number;
  readonly installed: Installed;
}

/** What happened, in sentences for whoever asked for the package: a person or a model. Pure. */
export function installMessage(told: Told): string {
  const { installed } = told;
  const { outcome, exitCode } = installed.outcome;
  const wish = told.package;
  if (outcome === 'cancelled') return `The installation of ${wish} was cancelled.`;
  if (outcome === 'timed_out')
    return `The installation of ${wish} was ended after ${told.timeoutSec} seconds. ${stoppedBy(installed.network.decisions) ?? 'Give it a longer timeout.'}`;
  if (outcome === 'out_of_memory')
    return `The installation of ${wish} took more than the ${told.memoryMb} MB of memory of this sandbox. Make the sandbox with a larger memoryMb.`;
  if (outcome !== 'exited') return `The installation of ${wish} was ended by signal ${exitCode - 128}.`;
  if (exitCode === 0)
    return installed.version === undefined
      ? `${wish} is installed.`
      : `${wish} is installed, in version ${installed.version}.`;
  return `${wish} was not installed. ${whyNot(told)}`;
}

function whyNot({ installer, installed, package: wish }: Told): string {
  const { log, outcome, network } = installed;
  if (outcome.exitCode === NO_TOOL && log.startsWith(`There is no ${installer.tool} for `))
    return `This sandbox has no ${installer.tool}. ${installer.missing}`;
  const known = [...installer.failures, ...SHARED].find(({ sign }) => sign.test(log));
  const reason = stoppedBy(network.decisions) ?? known?.message ?? lastError(log);
  return (
    reason?.replaceAll('{package}', wish) ??
    `${installer.tool} ended with ${outcome.exitCode}; the log says more.`
  );
}

/** What either of them says in the same words. */
const SHARED: Installer['failures'] = [
  {
    sign: /CERTIFICATE_VERIFY_FAILED|SELF_SIGNED_CERT|UNABLE_TO_(?:GET|VERIFY)|unable to (?:get|verify)|self-signed certificate/,
    message:
      "The registry's certificate is not trusted inside. The operator can name a bundle that has it: PIP_CERT or pip.conf for pip, cafile or NODE_EXTRA_CA_CERTS for npm.",
  },
];

/** A host that nobody may reach here is why it failed; one that could not be reached is, unless another try went well. */
function stoppedBy(decisions: readonly NetworkDecision[]): string | undefined {
  const refused = decisions.find(({ allowed }) => !allowed);
  if (refused !== undefined) {
    return `It asked for ${where(refused)}, and while a package is installed only its registry can be reached. An operator can add what belongs to the registry to network.allowed_registries.`;
  }
  const failed = decisions.findLast(({ code }) => code !== undefined);
  if (failed?.reason === undefined || decisions.some(({ host, code }) => host === failed.host && !code))
    return undefined;
  return `Its registry could not be reached. ${failed.reason.replace(/^Glovebox: /, '')}`;
}

/** Canonical names only hold letters, digits, hyphens, dots, and colons in brackets. */
function where({ host, port }: NetworkDecision): string {
  return host === '' ? 'something that is no host' : `${host} on port ${port}`;
}

const LONGEST_ERROR = 300;

/** The last line that the package manager itself marks as an error, as plain text. */
function lastError(log: string): string | undefined {
  const lines = log
    .split('\n')
    .flatMap((line) => /^(?:ERROR: |npm (?:ERR!|error) )(.*\S)/.exec(line)?.[1] ?? []);
  const line = lines.findLast((text) => !/complete log of this run|^A complete/.test(text));
  return line === undefined ? undefined : `It says: ${plain(line)}`;
}

/** Outside text as a part of a sentence of ours: one short line without anything that a terminal obeys. */
function plain(text: string): string {
  const line = text.replace(/[^\x21-\x7e]+/g, ' ').trim();
  return line.length <= LONGEST_ERROR ? line : `${line.slice(0, LONGEST_ERROR)}...`;
}
