import { Writable } from 'node:stream';

type Standard = Pick<NodeJS.WriteStream, 'write'>;

/**
 * The only way to standard output from now on. Whatever else writes there, such as `console.log` in a library, comes out
 * on standard error.
 */
export function takeStdout(stdout: Standard = process.stdout, stderr: Standard = process.stderr): Writable {
  const write = stdout.write.bind(stdout) as (chunk: Buffer, done: (error?: Error | null) => void) => boolean;
  const frames = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
  });
  stdout.write = ((...args: Parameters<typeof stdout.write>) => stderr.write(...args)) as typeof stdout.write;
  return frames;
}
