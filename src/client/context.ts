/** A language that keeps its state in a sandbox of a server. */
import { isSandboxError, SandboxError } from '../errors.ts';
import { checkOptions } from '../operations/checkOptions.ts';
import type { ContextOptions, SandboxContext } from '../operations/contexts.ts';
import { contextExecutionSchema } from '../result/resultFromJson.ts';
import { idPath } from './paths.ts';
import type { Place } from './place.ts';
import { lowerLimitsJson, outputBytesOf } from './requests.ts';
import { unlessAborted } from './unlessAborted.ts';
import { contextAnswer, interruptedAnswer } from './wire.ts';
import { withMissed } from './withMissed.ts';

export async function remoteContext(
  place: Place,
  language: string | undefined,
  options: ContextOptions,
): Promise<SandboxContext> {
  checkOptions('context', options);
  const { env, signal } = options;
  signal?.throwIfAborted();
  const json = { language, env, ...lowerLimitsJson(options) };
  const made = place.json({ method: 'POST', path: 'contexts', json, retry: true }, contextAnswer);
  const answer = await unlessAborted(made, signal, async () => {
    const { contextId } = await made;
    await place.tell({ method: 'DELETE', path: `contexts/${idPath(contextId)}`, retry: true });
  });
  const path = `contexts/${idPath(answer.contextId)}`;
  let ended: string | undefined;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ended ??= 'It was closed.';
    closing ??= place.tell({ method: 'DELETE', path, retry: true }).catch((error: unknown) => {
      // With its sandbox it is gone, too, which is what was asked for.
      if (!isSandboxError(error) || error.code !== 'SANDBOX_CLOSED') throw error;
    });
    return closing;
  };
  return {
    language: answer.language,
    get ended() {
      return ended;
    },
    async execute(code, cellOptions = {}) {
      checkOptions('cell', cellOptions);
      if (ended !== undefined) throw closedContext(answer.language, ended);
      const { timeout, onOutput, onResult, signal: cancelled } = cellOptions;
      const followed = await place.run({
        path: `${path}/executions`,
        json: { code, timeout, max_output_bytes: outputBytesOf(cellOptions) },
        schema: contextExecutionSchema,
        ...(onOutput === undefined ? {} : { onOutput }),
        ...(onResult === undefined ? {} : { onResult }),
        ...(cancelled === undefined ? {} : { signal: cancelled }),
      });
      ended ??= followed.result.ended;
      return withMissed(followed);
    },
    async interrupt() {
      const question = { method: 'POST', path: `${path}/interrupt`, json: {} } as const;
      return (await place.json(question, interruptedAnswer)).interrupted;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function closedContext(language: string, reason: string): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', `The ${language} context has ended. ${reason}`, {
    hint: `Make a new one with sandbox.context('${language}'); its variables are gone, the files in the workspace are not.`,
    details: { language, reason },
  });
}
