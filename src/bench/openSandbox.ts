import { setTimeout as delay } from 'node:timers/promises';
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
  /**
   * Resolves when as many wait for a program in this language as shall, and those that were used are gone; to the reason
   * where none can wait. At once where none is meant to.
   */
  ready(language: LanguageName): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Opens one with a settings file, in a folder where no project's settings are. */
export function openSandbox(
  { runtime, warm, preload, waiting }: SandboxWish,
  place: Required<Pick<SandboxOptions, 'configFile' | 'cwd'>>,
): OpenedSandbox {
  let failure: string | undefined;
  const sandbox = getSandbox({
    ...place,
    runtime,
    warm: warm && {
      onEvent: (event) => {
        if (event.type === 'failed') failure = event.message;
      },
      ...(preload === undefined ? {} : { preload }),
      ...(waiting === undefined ? {} : { min: waiting, max: waiting, memoryMb: ROOM_MB * waiting }),
    },
  });
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
    async ready(language) {
      if (!warm) return undefined;
      const { because } = await sandbox.warmUp({ language });
      // What is on its way to its end takes processor time from what is measured next.
      while ((sandbox.warmState()?.dying ?? 0) > 0) await delay(1);
      const idle = sandbox.warmState()?.idle ?? 0;
      if (because !== undefined || idle >= (waiting ?? 1)) return because;
      return `Only ${idle} of ${waiting ?? 1} wait: ${failure ?? 'there is no room for more.'}`;
    },
    close: () => sandbox.close(),
  };
}

/** More than one that waits is ever taken to use, in MB: here their number is what bounds them. */
const ROOM_MB = 64;
