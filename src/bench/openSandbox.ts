import type { LanguageName } from '../languages/language.ts';
import { getSandbox, type SandboxOptions } from '../operations/getSandbox.ts';
import type { ExecuteOptions } from '../operations/options.ts';
import type { ExecutionResult } from '../result/result.ts';

/** The sandbox that a row measures. */
export interface SandboxWish {
  readonly runtime: string;
  readonly warm: boolean;
  /** Modules that a waiting interpreter has imported. */
  readonly preload?: readonly string[];
  /** How many wait; as many as usual by default. */
  readonly waiting?: number;
  /** Settings that differ from those of the bench, by their names in a settings file. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface Code {
  readonly language: LanguageName;
  readonly code: string;
}

/** A program whose output is known, so that no failure is timed as a success. */
export interface KnownProgram extends Code {
  readonly prints: string;
}

/** A way to run programs, each in a sandbox of its own, by the public interface. */
export interface OpenedSandbox {
  execute(program: Code, options?: Omit<ExecuteOptions, 'language'>): Promise<ExecutionResult>;
  /** The same; rejects when the program did not print what it should. */
  run(program: KnownProgram): Promise<ExecutionResult>;
  /** Resolves when as many wait as shall; at once where nobody can tell. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Opens one with a settings file, in a folder where no project's settings are. */
export function openSandbox(
  { runtime, warm, preload, waiting }: SandboxWish,
  place: Required<Pick<SandboxOptions, 'configFile' | 'cwd'>>,
): OpenedSandbox {
  const options = {
    ...place,
    runtime,
    warm: warm && {
      ...(preload === undefined ? {} : { preload }),
      ...(waiting === undefined ? {} : { min: waiting, max: waiting, memoryMb: 16 * waiting }),
    },
  };
  const sandbox: ReturnType<typeof getSandbox> & Partial<Pool> = getSandbox(options);
  const execute: OpenedSandbox['execute'] = ({ language, code }, options) =>
    sandbox.execute(code, { ...options, language });
  return {
    execute,
    async run(program) {
      const result = await execute(program);
      const { outcome, exitCode, stdout, stderr } = result;
      if (outcome === 'exited' && exitCode === 0 && stdout === program.prints) return result;
      throw new Error(`${runtime}: ${JSON.stringify({ outcome, exitCode, stdout, stderr })}`);
    },
    ready: async () => sandbox.ready?.(),
    close: async () => sandbox.close?.(),
  };
}

/** What a sandbox has besides where it keeps others ready. */
interface Pool {
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** How the interpreter of a result came to wait; undefined where it was started for the program. */
export function warmedBy({ meta }: ExecutionResult): string | undefined {
  const { warm } = meta as { readonly warm?: unknown };
  return warm === undefined || warm === false || warm === null ? undefined : String(warm);
}
