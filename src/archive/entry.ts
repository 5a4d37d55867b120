/** What an archive is made of. */

/** What is kept of a file's mode, owner and time: whether it is a program, and when it was changed. */
export interface ArchiveEntry {
  /** Relative, its components joined by `/`; as many kinds of bytes as a name may have. */
  readonly name: Buffer;
  readonly type: 'file' | 'directory' | 'symlink';
  readonly executable?: boolean;
  /** In seconds since 1970. */
  readonly modifiedAt?: number;
  /** Where a symbolic link leads, as it is written. */
  readonly target?: Buffer;
  /** In bytes, for a file. */
  readonly size?: number;
  /** Exactly `size` bytes. */
  readonly content?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Something of an archive or a folder that was not carried over, and why. */
export interface LeftOut {
  readonly path: string;
  /** A short phrase, such as `a FIFO`. */
  readonly because: string;
}

/** What a transfer may have at most. */
export interface TransferLimits {
  /** All files together, each by its apparent size: a sparse file counts in full. */
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/** How many folders may stand in each other, and how long a path may be: others have to reach it too. */
const MAX_COMPONENTS = 128;
const MAX_PATH_BYTES = 3000;

/** The name that these steps down make. Pure. */
export function nameOf(components: readonly Buffer[]): Buffer {
  return Buffer.concat(components.flatMap((one, index) => (index === 0 ? [one] : [SLASH, one])));
}

const SLASH = Buffer.from('/');

/** What is deeper than that, as is said of it. */
export const TOO_DEEP = `deeper than ${MAX_COMPONENTS} folders or ${MAX_PATH_BYTES} bytes`;

/** True for a path that is {@link TOO_DEEP}. Pure. */
export function isTooDeep(components: number, pathBytes: number): boolean {
  return components > MAX_COMPONENTS || pathBytes > MAX_PATH_BYTES;
}
