/** The frames of a relay, written out a second time, apart from the code under test. */

/** The kinds of frames, by their numbers. */
export const [HELLO, OPEN, OPENED, REFUSED, DATA, CREDIT, END, RESET] = [1, 2, 3, 4, 5, 6, 7, 8] as const;

export function frame(type: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(9);
  header.writeUInt8(type, 0);
  header.writeUInt32LE(id, 1);
  header.writeUInt32LE(payload.length, 5);
  return Buffer.concat([header, payload]);
}

/** A number in a payload. */
export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
