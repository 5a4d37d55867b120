import type { LanguageName } from '../languages/language.ts';
import type { ContextExecution, RichResult } from '../result/contextExecution.ts';
import type { LanguageContext } from '../sandbox/context.ts';
import { checkOptions } from './checkOptions.ts';
import type { Context } from './context.ts';
import { counted, inOpened, type Opened, timeOf } from './execute.ts';
import { inspect } from './inspection.ts';
import { prepare } from './job.ts';
import { allowedLanguage } from './languages.ts';
import { lowerLimits } from './lowerLimits.ts';
import type { LiveRunOptions } from './options.ts';
import { ExecutionPassage } from './oversight/executionPassage.ts';
import { recorded } from './oversight/sandboxes.ts';
import { assemble, blockOf, denialOf, refused } from './results.ts';

/** How a context is started. */
export interface ContextOptions
  extends Pick<LiveRunOptions, 'env' | 'maxMemoryMb' | 'maxProcesses' | 'signal'> {}

/** How one cell is run. */
export interface CellOptions
  extends Pick<LiveRunOptions, 'timeout' | 'maxOutputKb' | 'maxOutputBytes' | 'signal' | 'onOutput'> {
  /** Results as they come; all of them are in the result as well. */
  readonly onResult?: (result: RichResult) => void;
}

/** A language that keeps its state in a sandbox: variables, imports, functions, the working folder. */
export interface SandboxContext extends AsyncDisposable {
  readonly language: LanguageName;
  /** Why there will be no further execution, in a whole sentence; undefined while it lives. */
  readonly ended: string | undefined;
  /**
   * Runs one piece of code after what was run before; calls of one context run in their order, and beside those of
   * others. At the deadline the code is interrupted and the state stays; code that does not heed that ends the context.
   * Throws `SANDBOX_CLOSED` once the context or its sandbox has ended.
   */
  execute(code: string, options?: CellOptions): Promise<ContextExecution>;
  /** Interrupts what runs, as Ctrl-C does; the state stays. Resolves to whether anything did run. */
  interrupt(): Promise<boolean>;
  /** Ends it with all that it started; safe to call twice. */
  close(): Promise<void>;
}

/** Starts one. Throws `LANGUAGE_UNAVAILABLE`, or `POLICY_DENIED` for a language that the operator does not allow. */
export async function openContext(
  context: Context,
  opened: Opened,
  name: string,
  options: ContextOptions = {},
): Promise<SandboxContext> {
  checkOptions('context', options);
  const { sandbox } = opened;
  const language = allowedLanguage(context, name);
  const { limits, warnings } = lowerLimits(sandbox, options);
  const env = { ...opened.env, ...options.env };
  const start = () =>
    sandbox.context({
      language: language.name,
      env,
      ...(limits === undefined ? {} : { limits }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  const wish = () => ({
    parameters: { language: language.name, variables: Object.keys(env).sort() },
    signal: options.signal,
  });
  const kernel = await recorded(context, { sandbox, env }, 'start_context', wish, start);
  const notes = [...opened.warnings, ...warnings];
  return {
    language: language.name,
    get ended() {
      return sandbox.ended?.message ?? kernel.ended;
    },
    async execute(code, cellOptions = {}) {
      checkOptions('cell', cellOptions);
      const cell = { ...cellOptions, language: language.name, env };
      return runCell(context, opened, kernel, { code, options: cell, notes });
    },
    interrupt: () => kernel.interrupt(),
    close: () => kernel.close(),
    [Symbol.asyncDispose]: () => kernel.close(),
  };
}

interface Cell {
  readonly code: string;
  readonly options: CellOptions & Pick<LiveRunOptions, 'language' | 'env'>;
  readonly notes: readonly string[];
}

async function runCell(
  context: Context,
  opened: Opened,
  kernel: LanguageContext,
  { code, options: { onResult, ...options }, notes }: Cell,
): Promise<ContextExecution> {
  const { sandbox } = opened;
  const { timeoutSec, warnings } = timeOf(context, opened, options);
  const prepared = prepare(context, { code }, inOpened(opened, options), {
    ...{ timeoutSec, lifetime: 'lasting' },
  });
  const said = [...notes, ...warnings];
  const passage = await ExecutionPassage.open(context, prepared, sandbox);
  const execution = passage.over(async (): Promise<ContextExecution> => {
    const inspection = await inspect(context, prepared);
    await passage.inspected(inspection);
    const refusal = blockOf(inspection) ?? denialOf(await passage.admit(sandbox.runtime, sandbox.policy));
    if (refusal !== undefined) {
      const result = refused(context, prepared, inspection, refusal, sandbox.policy, said);
      return { ...result, results: [], resultsLeftOut: 0, executionCount: kernel.executionCount };
    }
    const { maxOutputBytes, signal, onOutput } = passage.program;
    const { results, resultsLeftOut, error, executionCount, ended, ...outcome } = await sandbox.runCell(
      kernel,
      prepared.executionId,
      {
        ...{ code: prepared.code, timeoutSec, maxOutputBytes },
        ...(signal === undefined ? {} : { signal }),
        ...(onOutput === undefined ? {} : { onOutput }),
        ...(onResult === undefined ? {} : { onResult }),
      },
    );
    return {
      ...assemble(prepared, inspection, sandbox, outcome, said),
      ...{ results, resultsLeftOut, executionCount },
      ...(error === undefined ? {} : { error }),
      ...(ended === undefined ? {} : { ended }),
    };
  });
  return counted(opened, execution);
}
