import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';

/** A content in a spool. */
export interface Kept {
  readonly offset: number;
  readonly size: number;
}

const CHUNK_BYTES = 64 * 1024;

/** Contents on the disk of this host, in a file without a name: nothing of it is left, however this process ends. */
export class Spool {
  readonly #file: FileHandle;
  #end = 0;
  #closed: Promise<void> | undefined;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Throws `SANDBOX_FAILED` where this host has no room for it; so does `add`. */
  static async open(): Promise<Spool> {
    const path = join(tmpdir(), `glovebox-spool-${randomBytes(8).toString('hex')}`);
    const file = await open(path, 'wx+', 0o600).catch((error: unknown) => {
      throw notKept(error);
    });
    unlinkSync(path);
    return new Spool(file);
  }

  /** Where the next content begins. */
  get end(): number {
    return this.#end;
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (let written = 0; written < chunk.byteLength; ) {
      const at = this.#end;
      const { bytesWritten } = await this.#file
        .write(chunk, written, chunk.byteLength - written, at)
        .catch((error: unknown) => {
          throw notKept(error);
        });
      written += bytesWritten;
      this.#end += bytesWritten;
    }
  }

  /** Forgets what was added since. */
  rewind(end: number): void {
    this.#end = end;
  }

  /** Gives back what was forgotten. */
  async fit(): Promise<void> {
    await this.#file.truncate(this.#end);
  }

  /** Each chunk is the reader's own. */
  async *read({ offset, size }: Kept): AsyncGenerator<Uint8Array> {
    for (let done = 0; done < size; ) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - done));
      const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, offset + done);
      if (bytesRead === 0) throw new Error('what was kept is gone');
      yield chunk.subarray(0, bytesRead);
      done += bytesRead;
    }
  }

  async bytes(kept: Kept): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.read(kept)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#file.close();
    return this.#closed;
  }
}

function notKept(cause: unknown): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    `What files become cannot be kept in ${JSON.stringify(tmpdir())}: ${(cause as Error).message}`,
    { hint: 'Make room there, or name another folder with TMPDIR.', cause },
  );
}
