import { once } from 'node:events';
import type { OutputChunk } from '../result/output.ts';

/** Writes what came, byte for byte, and waits where the reader is slow, or is asked something on the same screen. */
export async function passOn({ stream, bytes }: Pick<OutputChunk, 'stream' | 'bytes'>): Promise<void> {
  // A copy: the bytes are only lent, and may be waiting in our stream's buffer for long.
  const copy = Buffer.from(bytes);
  // They could paint over the question, and have something else approved than what is read there.
  if (process[stream].isTTY) await untilNobodyIsAsked(process[stream].fd);
  if (process[stream].write(copy)) return;
  await once(process[stream], 'drain');
}

/** Waits while somebody is asked on the terminal that a descriptor leads to. */
export async function untilNobodyIsAsked(descriptor: number): Promise<void> {
  // Most output goes to a file or a pipe.
  const { terminalTurns } = await import('../operations/terminalTurns.ts');
  await terminalTurns().untilFree(descriptor);
}
