import { once } from 'node:events';
import type { OutputChunk } from '../result/output.ts';

/** Writes what came, byte for byte, and waits where the reader is slow. */
export async function passOn({ stream, bytes }: Pick<OutputChunk, 'stream' | 'bytes'>): Promise<void> {
  // A copy: the bytes are only lent, and may be waiting in our stream's buffer for long.
  if (process[stream].write(Buffer.from(bytes))) return;
  await once(process[stream], 'drain');
}
