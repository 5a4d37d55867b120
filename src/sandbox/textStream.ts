export interface TextStream {
  /** The text that is complete with this chunk. */
  push(chunk: Uint8Array): string;
  /** What was still held back; a character that never became whole is replaced. */
  finish(): string;
}

/** Turns the chunks of one live stream into text; a character that is split across chunks comes out whole. */
export function decodeStream(): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push: (chunk) => decoder.decode(chunk, { stream: true }),
    finish: () => decoder.decode(),
  };
}
