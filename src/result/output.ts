/** Output as it comes. A returned promise is waited for before more is read. */
export type OnOutput = (chunk: OutputChunk) => void | Promise<void>;

export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  /** Decoded text; a character is never split over two chunks. */
  readonly text: string;
  /** The very bytes that came, valid until the returned promise settles; characters may be split. */
  readonly bytes: Uint8Array;
}
