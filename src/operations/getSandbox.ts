import type { Gate } from '../gate/approval/gate.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { type Context, createContext } from './context.ts';
import { executeOnce } from './execute.ts';
import type { ExecuteOptions } from './options.ts';

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

/** Runs each piece of code in a sandbox of its own, which is gone afterwards. */
export interface OneShotSandbox {
  /**
   * Runs code and resolves to what happened, whatever that is: a program that fails is a result.
   * Throws a `SandboxError` before anything runs: bad input or settings, an unavailable runtime, a demand
   * that cannot be held.
   */
  execute(code: string | Uint8Array, options?: ExecuteOptions): Promise<ExecutionResult>;
}

/** The sandbox that the settings choose. Settings are read at the first execution and kept. */
export function getSandbox(options: SandboxOptions = {}): OneShotSandbox {
  let context: Promise<Context> | undefined;
  return {
    async execute(code, executeOptions = {}) {
      // Loaded here and not above: the command line, which has a parser of its own, starts without it.
      (await import('./checkOptions.ts')).checkOptions('execute', executeOptions);
      context ??= createContext(options);
      return executeOnce(await context, { code }, executeOptions);
    },
  };
}
