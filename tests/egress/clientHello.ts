/** What a TLS client's first bytes are made of, for hellos that no client of good will would send. */
export interface HelloParts {
  /** The names in its server name extension; without any there is no such extension. */
  readonly names?: readonly string[];
  /** More extensions, by their number. */
  readonly extensions?: readonly (readonly [type: number, body: Buffer])[];
  /** Into how many bytes of it each record is cut. */
  readonly recordBytes?: number;
}

const SERVER_NAME = 0;

export function clientHello({ names = [], extensions = [], recordBytes = 16_384 }: HelloParts): Buffer {
  const all = [
    ...(names.length === 0 ? [] : [extension(SERVER_NAME, serverNames(names))]),
    ...extensions.map(([type, body]) => extension(type, body)),
    extension(43, Buffer.from([2, 3, 4])), // TLS 1.3
  ];
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7), // random
    sized(1, Buffer.alloc(32, 8)), // session
    sized(2, Buffer.from([0x13, 0x01])), // cipher suites
    sized(1, Buffer.from([0])), // compression
    sized(2, Buffer.concat(all)),
  ]);
  return records(Buffer.concat([Buffer.from([1]), sized(3, body)]), recordBytes);
}

export function serverNames(names: readonly string[], type = 0): Buffer {
  const entries = names.map((name) =>
    Buffer.concat([Buffer.from([type]), sized(2, Buffer.from(name, 'latin1'))]),
  );
  return sized(2, Buffer.concat(entries));
}

/** Bytes with their length in front. */
export function sized(lengthBytes: number, bytes: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes.length, 0, lengthBytes);
  return Buffer.concat([length, bytes]);
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), sized(2, body)]);
}

function records(message: Buffer, recordBytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length; at += recordBytes) {
    parts.push(Buffer.from([22, 3, 1]), sized(2, message.subarray(at, at + recordBytes)));
  }
  return Buffer.concat(parts);
}
