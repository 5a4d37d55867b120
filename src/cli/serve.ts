/** `glovebox serve`: the operations over HTTP. */
import { SandboxError } from '../errors.ts';
import { openLog } from '../http/logging.ts';
import { passingKeys } from '../http/passingKeys.ts';
import { startServer } from '../http/server.ts';
import { openTelemetry } from '../http/telemetry.ts';
import { forTerminal } from './terminal.ts';

export interface ServeFlags {
  readonly host: string;
  readonly port: string;
  readonly config?: string;
  readonly runtime?: string;
  readonly insecureNoAuthentication?: boolean;
  readonly allowedHost?: readonly string[];
  readonly maxExecutions?: string;
  readonly maxQueue?: string;
  readonly drainSec: string;
  readonly jsonLogs?: boolean;
}

/** Serves until a signal comes; resolves to the exit status. */
export async function serve(flags: ServeFlags, env: NodeJS.ProcessEnv): Promise<number> {
  const port = numberOf('--port', flags.port, 0, 65_535);
  const drainSec = numberOf('--drain-sec', flags.drainSec, 0, 3600);
  const log = openLog({
    isJson: flags.jsonLogs === true,
    write: (line) => void process.stderr.write(`${flags.jsonLogs ? line : forTerminal(line)}\n`),
  });
  const stop = untilStopped();
  const keys = passingKeys();
  const server = await startServer({
    ...{ host: flags.host, port, authenticate: keys.authenticate, log, telemetry: await openTelemetry(env) },
    surroundings: flags.config === undefined ? {} : { configFile: flags.config },
    ...(flags.runtime === undefined ? {} : { runtime: flags.runtime }),
    allowedHosts: flags.allowedHost ?? [],
    limits: {
      ...(flags.maxExecutions === undefined
        ? {}
        : { maxExecutions: numberOf('--max-executions', flags.maxExecutions, 1, 100_000) }),
      ...(flags.maxQueue === undefined
        ? {}
        : { maxQueue: numberOf('--max-queue', flags.maxQueue, 0, 1_000_000) }),
    },
  });
  process.stderr.write(
    `No key is stored, so these hold until the server ends:\n  to run code: ${keys.execute}\n  to approve, and to read the record: ${keys.operate}\n`,
  );
  process.stdout.write(`${server.url}\n`);
  log.info({ url: server.url }, 'listening');
  await stop;
  log.info({ drain_sec: drainSec }, 'ending');
  await server.close({ drainSec });
  log.info('ended');
  return 0;
}

/** Resolves at the first signal; the second one ends the process at once. */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    let isAsked = false;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(1);
        isAsked = true;
        resolve();
      });
    }
  });
}

function numberOf(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SandboxError('INPUT_INVALID', `${flag} must be a whole number from ${least} to ${most}.`, {
    hint: `It is ${JSON.stringify(text.slice(0, 40))}.`,
  });
}
