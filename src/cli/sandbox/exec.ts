import type { Readable } from 'node:stream';
import type { ExecutionMeta, Outcome } from '../../result/result.ts';
import { cancellableProgram } from '../cancel.ts';
import { exitStatus, printEnd } from '../ending.ts';
import { passOn } from '../passOn.ts';
import { type ProgramFlags, parseVariable, type What, whatToRun } from '../program.ts';
import type { DryRunJson, ExecuteRequest } from '../sandboxHost/protocol.ts';
import { standardInput } from '../standardInput.ts';
import { warn } from '../warn.ts';
import { ask, brokenOff, errorFrom, eventsOf, tell } from './ask.ts';
import { printDryRun } from './dryRuns.ts';
import { hostOf, pathOf } from './hosts.ts';
import { numberFlag } from './numberFlag.ts';

export interface ExecFlags extends ProgramFlags {
  readonly stdin?: string;
  readonly timeout?: string;
  readonly memoryMb?: string;
  readonly maxOutputKb?: string;
  readonly env?: readonly string[];
  readonly json?: boolean;
  readonly dryRun?: boolean;
}

/** Runs once in a sandbox that lives on, and resolves to the exit status. */
export async function exec(
  id: string,
  file: string | undefined,
  args: readonly string[],
  flags: ExecFlags,
): Promise<number> {
  return cancellableProgram(async (signal) => {
    const what = await whatToRun(file, args, flags, 'glovebox sandbox exec ID');
    const stdin = await standardInput(file, flags);
    const socket = await hostOf(id);
    const request = requestOf(what, flags, stdin !== undefined);
    const place = { socket, path: `${pathOf(id)}/executions` };
    return report(id, await follow(place, request, stdin, signal), flags);
  });
}

function requestOf(
  { job, programArgs, language }: What,
  flags: ExecFlags,
  hasInput: boolean,
): ExecuteRequest {
  const timeout = numberFlag('--timeout', flags.timeout, 'timeoutSec');
  const memoryMb = numberFlag('--memory-mb', flags.memoryMb, 'memoryMb');
  const maxOutputKb = numberFlag('--max-output-kb', flags.maxOutputKb, 'maxOutputKb');
  return {
    ...('code' in job ? { code: Buffer.from(job.code).toString('base64') } : { command: job.command }),
    ...(language === undefined ? {} : { language }),
    args: programArgs,
    env: Object.fromEntries((flags.env ?? []).map(parseVariable)),
    ...(timeout === undefined ? {} : { timeout }),
    ...(memoryMb === undefined ? {} : { max_memory_mb: memoryMb }),
    ...(maxOutputKb === undefined ? {} : { max_output_kb: maxOutputKb }),
    stdin: hasInput,
    // As with `run`: with a limit given, what is printed is cut as the result is.
    stream: !flags.json && flags.maxOutputKb === undefined,
    ...(flags.dryRun ? { dry_run: true } : {}),
  };
}

interface Place {
  readonly socket: string;
  readonly path: string;
}

/** What of a result is looked at here. */
interface ResultJson {
  readonly outcome: Outcome;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly meta: {
    readonly resource_limits: { readonly timeout_sec: number | null; readonly memory_mb: number | null };
    readonly killed_by?: ExecutionMeta['killedBy'];
    readonly signal?: number;
  };
}

interface Result {
  readonly result: ResultJson;
  readonly warnings: readonly string[];
  readonly dryRun: DryRunJson | undefined;
}

/** Runs it, feeds it, and passes its output on as it comes. It is cancelled by the signal, and when we are gone. */
async function follow(
  { socket, path }: Place,
  request: ExecuteRequest,
  stdin: Uint8Array | Readable | undefined,
  cancelled: AbortSignal,
): Promise<Result> {
  let execution: string | undefined;
  const over = new AbortController();
  const cancel = (): void => {
    // One that has just ended says so itself.
    if (execution === undefined) over.abort();
    else tell(socket, { method: 'DELETE', path: `${path}/${execution}` }).catch(() => {});
  };
  const feed = (body: Uint8Array | Readable): void => {
    // What it does not read any more, because it has ended, is its own business.
    tell(socket, { method: 'PUT', path: `${path}/${execution}/stdin`, body, signal: over.signal }).catch(
      () => {},
    );
  };
  cancelled.addEventListener('abort', cancel, { once: true });
  try {
    if (cancelled.aborted) cancel();
    const answer = await ask(socket, { method: 'POST', path, json: request, signal: over.signal });
    for await (const event of eventsOf(answer)) {
      switch (event.type) {
        case 'accepted':
          execution = event.execution;
          if (cancelled.aborted) cancel();
          if (stdin !== undefined) feed(stdin);
          break;
        case 'output':
          await passOn({ stream: event.stream, bytes: Buffer.from(event.data, 'base64') });
          break;
        case 'result':
          return {
            result: event.result as unknown as ResultJson,
            warnings: event.warnings,
            dryRun: event.dry_run,
          };
        case 'error':
          throw errorFrom(event.error);
      }
    }
    throw brokenOff(answer);
  } finally {
    cancelled.removeEventListener('abort', cancel);
    over.abort();
  }
}

async function report(id: string, { result, warnings, dryRun }: Result, flags: ExecFlags): Promise<number> {
  const { outcome, exit_code: exitCode, stdout, stderr, meta } = result;
  if (flags.json) {
    const { text: _text, ...dry } = dryRun ?? {};
    process.stdout.write(`${JSON.stringify(dryRun === undefined ? result : { ...result, dry_run: dry })}\n`);
  } else {
    warnings.forEach(warn);
    const { timeout_sec: timeoutSec, memory_mb: memoryMb } = meta.resource_limits;
    const end = {
      outcome,
      stdout,
      stderr,
      timeoutSec,
      memoryMb,
      killedBy: meta.killed_by,
      signal: meta.signal,
    };
    await printEnd(end, flags.maxOutputKb === undefined);
    if (dryRun !== undefined) printDryRun(id, dryRun);
  }
  return exitStatus({ outcome, exitCode });
}
