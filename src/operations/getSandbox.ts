import { SandboxError } from '../errors.ts';
import type { Gate } from '../gate/approval/gate.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { WarmPoolState } from '../sandbox/warm/poolState.ts';
import { type Context, createContext } from './context.ts';
import { executeOnce } from './execute.ts';
import type { ExecuteOptions } from './options.ts';
import type { WarmedUp, WarmOptions } from './warmth.ts';

export interface SandboxOptions {
  /** A runtime's name, or a runtime of one's own; the setting `SANDBOX_TYPE` (default `local`) otherwise. */
  readonly runtime?: string | Runtime;
  /** A settings file that replaces the user's and the project's. */
  readonly configFile?: string;
  /** Where the project's settings file is looked for, and artifacts are kept; the working folder by default. */
  readonly cwd?: string;
  /** Decides, with people, what may be done; without it the setting `SANDBOX_GATE` says who is asked: nobody. */
  readonly gate?: Gate;
}

export interface GetSandboxOptions extends SandboxOptions {
  /**
   * Keeps sandboxes ready in which an interpreter waits for the next execution; only with `SANDBOX_WARM=on` otherwise.
   * Whoever says so closes it, or says `await using`.
   */
  readonly warm?: boolean | WarmOptions;
}

/** Runs each piece of code in a sandbox of its own, which is gone afterwards. */
export interface OneShotSandbox extends AsyncDisposable {
  /**
   * Runs code and resolves to what happened, whatever that is: a program that fails is a result.
   * Throws a `SandboxError` before anything runs: bad input or settings, an unavailable runtime, a demand
   * that cannot be held.
   */
  execute(code: string | Uint8Array, options?: ExecuteOptions): Promise<ExecutionResult>;
  /** Ends what is kept ready, and resolves when it is gone; nothing is executed afterwards. Safe to call twice. */
  close(): Promise<void>;
}

/** A sandbox of this process, which can be kept ready. */
export interface PooledSandbox extends OneShotSandbox {
  /**
   * Makes sandboxes ready for executions with these options, and resolves when they wait: to how, or to why none does. An
   * execution does not need it: without it the first ones are started cold.
   */
  warmUp(options?: ExecuteOptions): Promise<WarmedUp>;
  /** What waits at the moment; undefined where nothing was kept ready yet. */
  warmState(): WarmPoolState | undefined;
}

/** The sandbox that the settings choose. Settings are read at the first execution and kept. */
export function getSandbox(options: GetSandboxOptions = {}): PooledSandbox {
  let opened: Promise<Context> | undefined;
  let current: Context | undefined;
  let closed: Promise<void> | undefined;
  let check: Check | undefined;
  const context = async (given: object): Promise<Context> => {
    check ??= await loadCheck();
    check('execute', given);
    if (closed !== undefined) throw sandboxClosed();
    if (current !== undefined) return current;
    opened ??= openContext(options, check);
    current = await opened;
    return current;
  };
  const close = (): Promise<void> => {
    closed ??= (async () => (await opened?.catch(() => undefined))?.warmth?.close())();
    return closed;
  };
  return {
    execute: async (code, executeOptions = {}) =>
      executeOnce(await context(executeOptions), { code }, executeOptions),
    warmUp: async (executeOptions = {}) =>
      (await import('./warmUp.ts')).warmUp(await context(executeOptions), executeOptions),
    warmState: () => current?.warmth?.state(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Check = typeof import('./checkOptions.ts').checkOptions;

/** Not loaded above: the command line, which has a parser of its own, starts without it. */
async function loadCheck(): Promise<Check> {
  return (await import('./checkOptions.ts')).checkOptions;
}

async function openContext({ warm, ...options }: GetSandboxOptions, check: Check): Promise<Context> {
  check('oneShot', { warm, ...options });
  const context = await createContext(options);
  const isWarm = warm === undefined ? context.loaded.settings.warm === 'on' : warm !== false;
  if (!isWarm) return context;
  const { Warmth } = await import('./warmth.ts');
  return {
    ...context,
    warmth: Warmth.open(context.loaded.settings, typeof warm === 'object' ? warm : {}),
  };
}

function sandboxClosed(): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', 'This has been closed.', {
    hint: 'Call getSandbox() again.',
    details: { reason: 'closed' },
  });
}
