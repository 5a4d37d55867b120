import { getSandbox, type SandboxOptions } from './getSandbox.ts';
import { errorForModel, resultForModel } from './modelText.ts';
import type { ExecuteOptions } from './options.ts';

/**
 * Runs Python and answers with one compact string made for a model: what was printed, or
 * `Error (exit_code=N): …` with the end of the traceback. Never throws.
 */
export async function runPythonCode(code: string, timeout?: number): Promise<string> {
  return runCode(code, { language: 'python', ...(timeout === undefined ? {} : { timeout }) });
}

/** The same for any language and with every option of `execute`. Never throws. */
export async function runCode(code: string, options: ExecuteOptions & SandboxOptions = {}): Promise<string> {
  try {
    const { runtime, configFile, cwd, gate, ...executeOptions } = options;
    const sandbox = getSandbox({
      ...(runtime === undefined ? {} : { runtime }),
      ...(configFile === undefined ? {} : { configFile }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(gate === undefined ? {} : { gate }),
    });
    return resultForModel(await sandbox.execute(code, executeOptions));
  } catch (error) {
    return errorForModel(error);
  }
}
