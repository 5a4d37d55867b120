import type { ExecutionResult } from '../result/result.ts';
import type { Enforced, FileEntry } from '../runtimes/runtime.ts';
import type { FileContent, Sandbox } from '../sandbox/sandbox.ts';
import { checkOptions } from './checkOptions.ts';
import { type Context, createContext } from './context.ts';
import { allLanguages, allowedLanguage, executeIn, openSandbox } from './execute.ts';
import type { SandboxOptions } from './getSandbox.ts';
import type { PolicyOptions, RunOptions } from './options.ts';

export interface CreateSandboxOptions extends SandboxOptions, PolicyOptions {
  /** The language of `execute` where it names none. */
  readonly language?: string;
  /** Seconds that an execution may take where it names none. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** A live sandbox: files last between executions, each execution has a fresh interpreter. */
export interface LiveSandbox extends AsyncDisposable {
  readonly id: string;
  readonly runtime: string;
  readonly enforced: Enforced;
  /** Executions of one sandbox run one after another, in the order of the calls. */
  execute(code: string | Uint8Array, options?: RunOptions): Promise<ExecutionResult>;
  /** Paths are relative to the workspace, or absolute below `/workspace`; text is written as UTF-8. */
  writeFile(path: string, content: string | Uint8Array): Promise<{ path: string; size: number }>;
  /** Throws `FILE_NOT_FOUND` or `PATH_OUTSIDE_WORKSPACE`. */
  readFile(path: string): Promise<FileContent>;
  listFiles(path?: string): Promise<{ files: readonly FileEntry[] }>;
  /** Ends every process and removes every trace; safe to call twice. */
  close(): Promise<void>;
}

/** Makes a live sandbox. Whoever makes it closes it, or says `await using`. */
export async function createSandbox(options: CreateSandboxOptions = {}): Promise<LiveSandbox> {
  const { runtime, configFile, cwd, language, ...policyOptions } = options;
  checkOptions('create', { ...policyOptions, ...(language === undefined ? {} : { language }) });
  const context = await createContext({
    ...(runtime === undefined ? {} : { runtime }),
    ...(configFile === undefined ? {} : { configFile }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  const chosen = allowedLanguage(context, language ?? 'python');
  const { sandbox, warnings } = await openSandbox(context, policyOptions, allLanguages(context, chosen));
  return liveSandbox(context, sandbox, chosen.name, warnings);
}

function liveSandbox(
  context: Context,
  sandbox: Sandbox,
  language: string,
  warnings: readonly string[],
): LiveSandbox {
  return {
    id: sandbox.id,
    runtime: sandbox.runtime,
    enforced: sandbox.enforced,
    async execute(code, options = {}) {
      checkOptions('run', options);
      return executeIn(context, sandbox, code, { language, ...options }, warnings);
    },
    writeFile: (path, content) => sandbox.writeFile(path, content),
    readFile: (path) => sandbox.readFile(path),
    listFiles: (path) => sandbox.listFiles(path),
    close: () => sandbox.close(),
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}
