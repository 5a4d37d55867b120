/** A file of a fixed size that has no name: nothing of it is left when this process ends, however it ends. */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownedName } from '../runtimes/host/owner.ts';

export class OutputFile {
  readonly #capacity: number;
  readonly #descriptor: number;
  #written = 0;

  /** Throws what the file system says when there is no room for a file. */
  constructor(capacityBytes: number) {
    this.#capacity = capacityBytes;
    this.#descriptor = openNameless();
  }

  /** How much was ever appended; the last `capacity` bytes of it are there. */
  get written(): number {
    return this.#written;
  }

  /** The first position that is still there. */
  get first(): number {
    return Math.max(0, this.#written - this.#capacity);
  }

  /** Appends all of it, in place of the oldest; throws what the file system says. */
  append(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#capacity));
    const start = this.#written + bytes.length - kept.length;
    for (let done = 0; done < kept.length; ) {
      const place = (start + done) % this.#capacity;
      const length = Math.min(kept.length - done, this.#capacity - place);
      done += writeSync(this.#descriptor, kept, done, length, place);
    }
    this.#written += bytes.length;
  }

  /** Reads into all of `target` what was appended from this position on. */
  read(position: number, target: Uint8Array): void {
    for (let done = 0; done < target.length; ) {
      const place = (position + done) % this.#capacity;
      const length = Math.min(target.length - done, this.#capacity - place);
      const count = readSync(this.#descriptor, target, done, length, place);
      if (count === 0) throw new Error('the file of the kept output is shorter than what was written to it');
      done += count;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Between making and unlinking it has the name of its owner, by which a later start finds what a crash left. */
function openNameless(): number {
  const folder = join(tmpdir(), ownedName(`output${randomUUID().replaceAll('-', '')}`));
  mkdirSync(folder, { mode: 0o700 });
  try {
    const path = join(folder, 'output');
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const descriptor = openSync(path, flags, 0o600);
    unlinkSync(path);
    return descriptor;
  } finally {
    rmdirSync(folder);
  }
}
