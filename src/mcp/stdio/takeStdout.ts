import { Writable } from 'node:stream';

type Standard = Pick<NodeJS.WriteStream, 'write'>;

/**
 * Below this nobody waits for a client that does not read. The SDK keeps listeners for each message that waits, and looks
 * through all of them for each that does not wait any more: with many, it does nothing else.
 */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * The only way to standard output from now on. Whatever else writes there, such as `console.log` in a library, comes out
 * on standard error.
 */
export function takeStdout(stdout: Standard = process.stdout, stderr: Standard = process.stderr): Writable {
  const write = stdout.write.bind(stdout) as (chunk: Buffer, done: (error?: Error | null) => void) => boolean;
  const frames = new Writable({
    highWaterMark: MAX_WAITING_BYTES,
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
  });
  frames.setMaxListeners(0);
  stdout.write = ((...args: Parameters<typeof stdout.write>) => stderr.write(...args)) as typeof stdout.write;
  return frames;
}
