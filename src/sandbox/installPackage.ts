import { randomBytes } from 'node:crypto';
import type { DecisionListeners } from '../egress/decision.ts';
import type { Recorded } from '../egress/recording.ts';
import { isSandboxError } from '../errors.ts';
import type { Installation, Installer } from '../languages/installers/installer.ts';
import type { EgressRules } from '../policy/policy.ts';
import type { Guest } from '../runtimes/runtime.ts';
import { Capture } from './capture.ts';
import { notStarted, type RunOutcome, type RunRequest, runCommand } from './run.ts';
import { SandboxNetwork } from './sandboxNetwork.ts';

/** One package to install, with all that was left open filled in. */
export interface InstallWish extends Pick<Installation, 'package' | 'addresses' | 'allowScripts'> {
  readonly installer: Installer;
  /** Whom the installation may reach, and nobody else in the sandbox. */
  readonly egress: EgressRules;
  readonly certificates?: { readonly pem: string; readonly trusted: 'instead' | 'besides' };
  /** Told of each decision about its network. */
  readonly listeners?: DecisionListeners;
  readonly timeoutSec: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: RunRequest['onOutput'];
  /** Under which its output is kept. */
  readonly executionId: string;
  /** Told when it is its turn, and its output can be paged. */
  readonly onStart?: () => void;
}

export interface Installed {
  readonly outcome: RunOutcome;
  /** Both streams in the order in which they came. */
  readonly log: string;
  /** Absent where it failed, and where nobody can tell. */
  readonly version?: string;
  readonly network: Recorded;
}

/** How much of what a package manager prints is kept. */
const LOG_BYTES = 64 * 1024;

/** What the last program of an installation may take: it removes a folder and reads one small file. */
const FINISH_SEC = 30;
const FINISH_BYTES = 1024;

/** How long the last connections of a program that has ended may take to be heard of. */
const CONNECTIONS_END_MS = 500;

/** The version of a package in either of the languages: nothing else of what is said inside is believed. */
const VERSION = /^[0-9A-Za-z][0-9A-Za-z.!+_-]{0,127}$/;

/**
 * Runs the package manager as a program of the sandbox, held like any other. It has a network of its own, in which only
 * what `egress` allows can be reached; that is over with it. What it needs for the time being is removed in the end.
 */
export async function installPackage(
  guest: Guest,
  wish: InstallWish & Pick<RunRequest, 'keep' | 'lifetime'>,
): Promise<Installed> {
  const { installer, certificates } = wish;
  const interpreter = await guest.interpreter(installer.language);
  const log = new Capture(LOG_BYTES);
  const network = await SandboxNetwork.open(wish.egress, wish.listeners);
  const ways = network.environment(installer.language === 'javascript' ? interpreter.version : undefined);
  const installation: Installation = {
    package: wish.package,
    addresses: wish.addresses,
    allowScripts: wish.allowScripts,
    workspace: guest.workspace,
    scratch: `${guest.environment['TMPDIR'] ?? '/tmp'}/glovebox-install-${randomBytes(6).toString('hex')}`,
    proxy: ways['http_proxy'] ?? '',
    certificates: certificates?.trusted ?? 'none',
  };
  const { args, env } = installer.install(installation);
  try {
    const recording = network.record();
    const outcome = await runCommand(guest, {
      command: {
        argv: [interpreter.path, ...args],
        env: { ...guest.environment, ...ways, ...env },
        limits: { timeoutSec: wish.timeoutSec },
        relay: network.relay,
      },
      ...(certificates === undefined ? {} : { stdin: Buffer.from(certificates.pem) }),
      timeoutSec: wish.timeoutSec,
      maxOutputBytes: 0,
      ...(wish.signal === undefined ? {} : { signal: wish.signal }),
      ...(wish.lifetime === undefined ? {} : { lifetime: wish.lifetime }),
      ...(wish.keep === undefined ? {} : { keep: wish.keep }),
      onOutput(chunk) {
        log.push(chunk.bytes);
        return wish.onOutput?.(chunk);
      },
    });
    const recorded = (await recording?.stop(CONNECTIONS_END_MS)) ?? NOBODY_ASKED;
    const found = await finish(guest, interpreter.path, installer, installation);
    const version = outcome.outcome === 'exited' && outcome.exitCode === 0 ? found : undefined;
    return {
      outcome,
      log: log.finish().text,
      network: recorded,
      ...(version === undefined ? {} : { version }),
    };
  } finally {
    await network.close();
  }
}

const NOBODY_ASKED: Recorded = { decisions: [], dropped: 0 };

/** What became of one that was cancelled before it was its turn. */
export function notInstalled(): Installed {
  return { outcome: notStarted(), log: '', network: NOBODY_ASKED };
}

/** Removes what was of use for the time being only, and asks which version is there. */
async function finish(
  guest: Guest,
  interpreter: string,
  installer: Installer,
  installation: Installation,
): Promise<string | undefined> {
  const { args, env } = installer.finish(installation);
  try {
    const { stdout } = await runCommand(guest, {
      command: { argv: [interpreter, ...args], env: { ...guest.environment, ...env } },
      timeoutSec: FINISH_SEC,
      maxOutputBytes: FINISH_BYTES,
    });
    const said = stdout.text.trim();
    return VERSION.test(said) ? said : undefined;
  } catch (error) {
    // The sandbox is being closed, and all of it goes with it.
    if (isSandboxError(error)) return undefined;
    throw error;
  }
}
