/** `glovebox serve`: the operations over HTTP. */
import { type LoadOptions, loadSettings } from '../config/index.ts';
import { consoleApp } from '../console/app.ts';
import { isSandboxError, SandboxError } from '../errors.ts';
import { accessFor } from '../http/access.ts';
import { consoleBackend } from '../http/consoleBackend.ts';
import type { Limits } from '../http/limits.ts';
import { type Logger, openLog } from '../http/logging.ts';
import { startServer } from '../http/server.ts';
import { removeStateFile, writeStateFile } from '../http/stateFile.ts';
import { openTelemetry } from '../http/telemetry.ts';
import { Keyring, keysFolder } from '../keys/keyring.ts';
import { assertReady } from '../operations/assertReady.ts';
import type { Context } from '../operations/context.ts';
import { sweepRuntimes } from '../operations/sweep.ts';
import { settingFlags } from './settingFlags.ts';
import { linesForTerminal } from './terminal.ts';

export interface ServeFlags {
  readonly host: string;
  readonly port: string;
  readonly config?: string;
  readonly runtime?: string;
  readonly insecureNoAuthentication?: boolean;
  readonly publicUrl?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly maxExecutions?: string;
  readonly maxQueue?: string;
  readonly maxBodyMb?: string;
  readonly drainSec: string;
  readonly jsonLogs?: boolean;
}

/** Serves until a signal comes; resolves to the exit status. `env` is what traces are configured with. */
export async function serve(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<number> {
  const port = whole('--port', flags.port, 0, 65_535);
  const drainSec = whole('--drain-sec', flags.drainSec, 0, 3600);
  const limits = limitsFrom(flags);
  const publicUrl = flags.publicUrl === undefined ? undefined : parsePublicUrl(flags.publicUrl);
  const surroundings: LoadOptions = {
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    ...settingFlags({ '--runtime': flags.runtime }),
  };
  const log = openLog({
    isJson: flags.jsonLogs === true,
    write: (line) => void process.stderr.write(`${flags.jsonLogs ? line : linesForTerminal(line)}\n`),
  });
  const keyring = new Keyring({
    folder: keysFolder(),
    onWarning: (warning) => log.error({ warning }, 'keys'),
  });
  const access = accessFor(flags.host, keyring, flags.insecureNoAuthentication === true);
  const stopped = untilStopped();
  const { removed, failures } = await sweepRuntimes(await loadSettings(surroundings));
  log.info({ removed, failures: failures.map(String) }, 'swept');
  const server = await startServer({
    ...{ host: flags.host, port, log, limits, surroundings, telemetry: await openTelemetry(env) },
    ...{ keys: access.keys, allowRemote: access.allowRemote },
    allowedHosts: [...(flags.allowHost ?? []), ...(publicUrl === undefined ? [] : [publicUrl.host])],
    allowedOrigins: [...(flags.allowOrigin ?? []), ...(publicUrl === undefined ? [] : [publicUrl.origin])],
    mount: (parts) =>
      consoleApp(consoleBackend(parts), publicUrl === undefined ? {} : { publicUrl: publicUrl.href }),
  });
  try {
    writeStateFile({ url: publicUrl?.origin ?? server.url, pid: process.pid }, {});
    process.stderr.write(access.notes.map((note) => `${note}\n`).join(''));
    process.stdout.write(`${server.url}\n`);
    log.info({ url: server.url }, 'listening');
    await tellIfNotReady(server.parts.context, log);
    const signal = await stopped;
    log.info({ signal, drain_sec: drainSec }, 'ending');
  } finally {
    await server.close({ drainSec });
    removeStateFile({});
  }
  log.info('ended');
  return 0;
}

/** It serves all the same: an engine may come later. `/readyz` says the same meanwhile. */
async function tellIfNotReady(context: Context, log: Logger): Promise<void> {
  try {
    await assertReady(context);
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    log.warn({ code: error.code, message: error.message, hint: error.hint }, 'nothing can be run yet');
  }
}

/** Resolves at the first signal to its name; the second one ends the process at once. */
function untilStopped(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isAsked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(128 + SIGNAL_NUMBERS[signal]);
        isAsked = true;
        resolve(signal);
      });
    }
  });
}

const SIGNAL_NUMBERS = { SIGTERM: 15, SIGINT: 2 } as const;

function limitsFrom({ maxExecutions, maxQueue, maxBodyMb }: ServeFlags): Partial<Limits> {
  return {
    ...(maxExecutions === undefined
      ? {}
      : { maxExecutions: whole('--max-executions', maxExecutions, 1, 100_000) }),
    ...(maxQueue === undefined ? {} : { maxQueue: whole('--max-queue', maxQueue, 0, 1_000_000) }),
    ...(maxBodyMb === undefined ? {} : { bodyBytes: whole('--max-body-mb', maxBodyMb, 1, 256) * 1024 ** 2 }),
  };
}

function parsePublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && url.pathname === '/' && url.search === '' && url.username === '';
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return url;
  throw new SandboxError(
    'INPUT_INVALID',
    `--public-url ${JSON.stringify(text.slice(0, 100))} is no address of a server.`,
    {
      hint: 'Give it without a path: --public-url https://glovebox.example.org',
    },
  );
}

function whole(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SandboxError('INPUT_INVALID', `${flag} must be a whole number from ${least} to ${most}.`, {
    hint: `It is ${JSON.stringify(text.slice(0, 40))}.`,
  });
}
