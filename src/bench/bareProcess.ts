import { spawn } from 'node:child_process';

export interface BareOptions {
  /** All of its environment; our own by default, as Node does it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Ends it, by `SIGTERM`. */
  readonly signal?: AbortSignal;
}

/**
 * A process as a Node program starts one by itself: resolves to all that it wrote to its standard output, at its end.
 * Rejects with what it wrote when it fails.
 */
export function bareProcess(
  program: string,
  args: readonly string[],
  { env, cwd, signal }: BareOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(env === undefined ? {} : { env }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(signal === undefined ? {} : { signal }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let complaint = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      complaint += String(chunk);
    });
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
      // There is nothing whose end could be waited for.
      if (child.pid === undefined) reject(error);
    });
    child.once('close', (code) => {
      if (failure !== undefined) reject(failure);
      else if (code === 0) resolve(output);
      else reject(new Error(`${program} ended with ${code}: ${complaint || output}`));
    });
  });
}
