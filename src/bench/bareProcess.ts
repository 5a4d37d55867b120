import { spawn } from 'node:child_process';

export interface BareOptions {
  /** All of its environment; our own by default, as Node does it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/**
 * A process as a Node program starts one by itself: resolves to all that it wrote to its standard output, at its end.
 * Rejects with what it wrote when it fails.
 */
export function bareProcess(
  program: string,
  args: readonly string[],
  { env, cwd }: BareOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(env === undefined ? {} : { env }),
      ...(cwd === undefined ? {} : { cwd }),
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
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ended with ${code}: ${complaint || output}`));
    });
  });
}
