import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mcpToken, stateFolder } from '../../config/index.ts';
import { SandboxError } from '../../errors.ts';
import { ElicitationApprover } from '../../mcp/approval/elicitationApprover.ts';
import { consoleAddress } from '../../mcp/consoleAddress.ts';
import { Session } from '../../mcp/session.ts';
import { type Context, createContext } from '../../operations/context.ts';
import { SandboxManager } from '../../operations/sandboxManager.ts';
import { TOOLS, Toolbox } from '../../operations/tools/toolbox.ts';
import { isLoopback } from '../../web/loopback.ts';
import { cancellableProgram } from '../cancel.ts';
import { settingFlags } from '../settingFlags.ts';
import { warn } from '../warn.ts';
import { wholeNumber } from '../wholeNumber.ts';

export interface ServeFlags {
  readonly http?: boolean;
  readonly host: string;
  readonly port: string;
  readonly tokenFile?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly maxSessions: string;
  readonly idleTimeout: string;
  readonly patience: string;
  readonly runtime?: string;
  readonly timeout?: string;
  readonly memoryMb?: string;
  readonly maxOutputKb?: string;
  readonly minIsolation?: string;
  readonly gate?: string;
  readonly config?: string;
}

/** How long answers may still take when the server ends. */
const GRACE_SEC = 2;

const MAX_WARNINGS = 100;

/** Serves until the client is gone, or a signal comes. Resolves to the exit status. */
export function serve(flags: ServeFlags): Promise<number> {
  const onWarning = limited(MAX_WARNINGS, warn);
  return cancellableProgram(async (signal) => {
    survive(onWarning);
    const approver = new ElicitationApprover();
    const context = await contextOf(flags, approver);
    // Of all sessions together there are as many sandboxes as there may be.
    await using manager = new SandboxManager();
    const open = () => openSession(context, approver, manager);
    if (flags.http) await serveHttp(flags, open, signal, onWarning);
    else await serveStdio(open(), signal, onWarning);
    return 0;
  });
}

async function contextOf(flags: ServeFlags, approver: ElicitationApprover): Promise<Context> {
  return createContext({
    ...{ surface: 'mcp', approvers: [approver], askedBy: approver.askedBy },
    patienceSec: wholeNumber('--patience', flags.patience, 1, 24 * 3600),
    ...(flags.config === undefined ? {} : { configFile: flags.config }),
    ...settingFlags({
      '--runtime': flags.runtime,
      '--timeout': flags.timeout,
      '--memory-mb': flags.memoryMb,
      '--max-output-kb': flags.maxOutputKb,
      '--min-isolation': flags.minIsolation,
      '--gate': flags.gate,
    }),
  });
}

function openSession(context: Context, approver: ElicitationApprover, manager: SandboxManager): Session {
  const folder = stateFolder();
  return new Session({
    ...{ tools: TOOLS, toolbox: new Toolbox({ context, manager }), approver },
    consoleAddress: async () => (folder === undefined ? undefined : consoleAddress(folder)),
  });
}

async function serveStdio(
  session: Session,
  signal: AbortSignal,
  onWarning: (message: string) => void,
): Promise<void> {
  const [{ takeStdout }, { serveOverStdio }] = await Promise.all([
    import('../../mcp/stdio/takeStdout.ts'),
    import('../../mcp/stdio/serveOverStdio.ts'),
  ]);
  await serveOverStdio({ session, input: process.stdin, output: takeStdout(), signal, onWarning });
}

async function serveHttp(
  flags: ServeFlags,
  open: () => Session,
  signal: AbortSignal,
  onWarning: (message: string) => void,
): Promise<void> {
  const { host, allowHost = [], allowOrigin = [] } = flags;
  const { MCP_PATH, serveOverHttp } = await import('../../mcp/http/serveOverHttp.ts');
  const { token, isNew } = tokenOf(flags);
  const listening = await serveOverHttp({
    ...{ open, token, host, onWarning, allowedHosts: allowHost, allowedOrigins: allowOrigin },
    port: wholeNumber('--port', flags.port, 0, 65_535),
    maxSessions: wholeNumber('--max-sessions', flags.maxSessions, 1, 10_000),
    idleSec: wholeNumber('--idle-timeout', flags.idleTimeout, 1, 7 * 24 * 3600),
    // Nobody is answered without the token.
    allowRemote: true,
  });
  if (!isLoopback(host)) {
    onWarning(
      `${host} can be reached from other machines, and nothing is encrypted: whoever reads along learns the token.`,
    );
  }
  const authorization = isNew ? `glovebox: Authorization: Bearer ${token}\n` : '';
  process.stderr.write(
    `${authorization}glovebox: The Model Context Protocol is spoken at ${listening.url}${MCP_PATH}\n`,
  );
  await aborted(signal);
  await listening.close({ graceSec: GRACE_SEC });
}

/** Of the file, else of the environment, else a new one for this server. */
function tokenOf({ tokenFile }: ServeFlags): { readonly token: string; readonly isNew: boolean } {
  const given = tokenFile === undefined ? mcpToken() : readTokenFile(tokenFile);
  if (given === undefined) return { token: randomBytes(32).toString('base64url'), isNew: true };
  if (/^[A-Za-z0-9._~+/-]{16,512}=*$/.test(given)) return { token: given, isNew: false };
  throw new SandboxError('INPUT_INVALID', 'The token is not one that can be sent and cannot be guessed.', {
    hint: 'Take at least 16 letters, digits or -._~+/ of them, as from: openssl rand -hex 32',
  });
}

function readTokenFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new SandboxError(
      'INPUT_INVALID',
      `The file of the token, ${JSON.stringify(path)}, cannot be read.`,
      {
        hint: 'Name a file that holds the token and nothing else.',
        cause: error,
      },
    );
  }
}

/** What goes wrong beside a call ends neither the server nor anybody else's session. */
function survive(onWarning: (message: string) => void): void {
  const tell = (error: unknown): void =>
    onWarning(`unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.on('uncaughtException', tell);
  process.on('unhandledRejection', tell);
}

/** A client that sends nonsense without end does not fill a log without end. */
function limited(max: number, tell: (message: string) => void): (message: string) => void {
  let told = 0;
  return (message) => {
    told++;
    if (told <= max) tell(message);
    if (told === max) tell('There were so many warnings that no more are told.');
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
