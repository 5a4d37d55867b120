import { randomUUID } from 'node:crypto';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SandboxError } from '../../errors.ts';
import type { DryRun } from '../../operations/dryRun/dryRun.ts';
import { effectsToJson } from '../../operations/dryRun/effects.ts';
import { effectsText } from '../../operations/dryRun/effectsText.ts';
import type { WaitingDryRuns } from '../../operations/dryRun/waitingDryRuns.ts';
import type { LiveSandbox } from '../../operations/liveSandbox.ts';
import type { RunOptions } from '../../operations/options.ts';
import type { ExecutionResult } from '../../result/result.ts';
import { resultToJson } from '../../result/resultJson.ts';
import { errorJson } from './errorJson.ts';
import { eventStream } from './eventStream.ts';
import type { DryRunJson, ExecuteRequest } from './protocol.ts';

interface Going {
  readonly sandbox: string;
  readonly stdin: PassThrough | undefined;
  readonly cancel: () => void;
}

/** The executions that go on, by ids of their own: they can be fed and cancelled before it is their turn. */
export class Executions {
  readonly #going = new Map<string, Going>();
  readonly #dryRuns: WaitingDryRuns;

  constructor(dryRuns: WaitingDryRuns) {
    this.#dryRuns = dryRuns;
  }

  /** Runs it; what comes of it is told as it comes. It is cancelled when nobody listens any more. */
  start(id: string, sandbox: LiveSandbox, request: ExecuteRequest): Response {
    const execution = randomUUID();
    return eventStream(async (tell, gone) => {
      const cancel = new AbortController();
      const stdin = request.stdin ? new PassThrough() : undefined;
      // Whoever fed it is told by the answer.
      stdin?.on('error', () => {});
      this.#going.set(execution, { sandbox: id, stdin, cancel: () => cancel.abort() });
      try {
        await tell({ type: 'accepted', execution });
        const { result, dryRun } = await run(sandbox, request, {
          signal: AbortSignal.any([gone, cancel.signal]),
          ...(stdin === undefined ? {} : { stdin }),
          ...(request.stream
            ? {
                onOutput: ({ stream, bytes }) =>
                  tell({ type: 'output', stream, data: Buffer.from(bytes).toString('base64') }),
              }
            : {}),
        });
        const told = new Set(sandbox.warnings);
        const warnings = (result.meta.warnings ?? []).filter((warning) => !told.has(warning));
        let dry: { readonly dry_run: DryRunJson } | undefined;
        // Nobody would ever know its id.
        if (gone.aborted) await dryRun?.discard();
        else if (dryRun !== undefined) {
          await this.#dryRuns.add(sandbox, dryRun);
          dry = { dry_run: dryRunJson(dryRun) };
        }
        await tell({ type: 'result', result: resultToJson(result), warnings, ...dry });
      } catch (error) {
        await tell({ type: 'error', error: errorJson(error) });
      } finally {
        this.#going.delete(execution);
        stdin?.destroy();
      }
    });
  }

  /** Gives it all that comes; resolves when there is no more, or when nobody reads it any more. */
  async feed(sandbox: string, execution: string, input: Readable): Promise<void> {
    const { stdin } = this.#find(sandbox, execution);
    if (stdin === undefined || stdin.destroyed) return;
    // The program has ended, or whoever feeds it has gone: each is told where it matters.
    await pipeline(input, stdin).catch(() => {});
  }

  cancel(sandbox: string, execution: string): void {
    this.#find(sandbox, execution).cancel();
  }

  #find(sandbox: string, execution: string): Going {
    const going = this.#going.get(execution);
    if (going?.sandbox === sandbox) return going;
    throw new SandboxError('INPUT_INVALID', `No execution ${JSON.stringify(execution)} goes on there.`, {
      hint: 'It may have ended just now.',
    });
  }
}

function dryRunJson({ id, hash, effects }: DryRun): DryRunJson {
  return { id, effects_sha256: hash, effects: effectsToJson(effects), text: effectsText(effects) };
}

async function run(
  sandbox: LiveSandbox,
  request: ExecuteRequest,
  given: Pick<RunOptions, 'signal' | 'stdin' | 'onOutput'>,
): Promise<{ readonly result: ExecutionResult; readonly dryRun?: DryRun }> {
  const options = {
    ...given,
    ...(request.args === undefined ? {} : { args: request.args }),
    ...(request.env === undefined ? {} : { env: request.env }),
    ...(request.timeout === undefined ? {} : { timeout: request.timeout }),
    ...(request.max_memory_mb === undefined ? {} : { maxMemoryMb: request.max_memory_mb }),
    ...(request.max_output_kb === undefined ? {} : { maxOutputKb: request.max_output_kb }),
  };
  const language = request.language === undefined ? {} : { language: request.language };
  const command = request.command as readonly [string, ...string[]] | undefined;
  const code = Buffer.from(request.code ?? '', 'base64');
  if (request.dry_run) {
    const dryRun = await sandbox.dryRun(command ?? { code, ...language }, options);
    return { result: dryRun.result, dryRun };
  }
  const result = await (command === undefined
    ? sandbox.execute(code, { ...options, ...language })
    : sandbox.exec(command, options));
  return { result };
}
