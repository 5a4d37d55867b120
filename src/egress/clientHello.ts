/** What the hello of a TLS client says. */
export type ClientHello =
  /** The names that it asks for, and whether it may ask for another one where nobody sees. */
  | { readonly names: readonly string[]; readonly hidden: boolean }
  /** It is no beginning of TLS, in a few words. */
  | { readonly problem: string };

/** The most bytes that a hello may have, with the headers of its records; the largest in use has about 2,000. */
export const LONGEST_HELLO = 32 * 1024;

const RECORD_HEADER = 5;
const LONGEST_RECORD = 2 ** 14;
const MESSAGE_HEADER = 4;
const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;

/**
 * Extensions that encrypt the name: Encrypted Client Hello, and the draft before it. What browsers send without a key
 * for it ("GREASE") looks the same on purpose, so it counts as well.
 */
const HIDING = [0xfe0d, 0xffce];

/** Could this be the beginning of TLS? */
export function looksLikeTls(bytes: Uint8Array): boolean {
  return bytes[0] === HANDSHAKE && (bytes.length < 2 || bytes[1] === 3);
}

/**
 * Reads a ClientHello as it comes, over as many records and pieces as its client likes. Each byte is looked at once:
 * a client may well send it byte by byte, in records of one.
 */
export class ClientHelloReader {
  /** The header of the record that is being read, as far as it has come. */
  readonly #header: number[] = [];
  /** The beginning of the message: its type and its length. */
  readonly #begin: number[] = [];
  readonly #fragments: Buffer[] = [];
  #collected = 0;
  #leftInRecord = 0;
  #total = 0;

  /** Takes more bytes; tells the hello when it is whole, or that there will be none. Not to be called after that. */
  read(bytes: Buffer): ClientHello | undefined {
    for (let at = 0; at < bytes.length; ) {
      if (this.#leftInRecord === 0) {
        const problem = this.#readHeader(bytes[at] as number);
        if (problem !== undefined) return { problem };
        at += 1;
        continue;
      }
      const fragment = bytes.subarray(at, at + this.#leftInRecord);
      at += fragment.length;
      const hello = this.#readFragment(fragment);
      if (hello !== undefined) return hello;
    }
    return undefined;
  }

  #readHeader(byte: number): string | undefined {
    const header = this.#header;
    header.push(byte);
    this.#total += 1;
    if (!looksLikeTls(Uint8Array.from(header))) {
      return this.#collected === 0
        ? 'it does not begin as TLS does'
        : 'another record comes within its hello';
    }
    if (header.length < RECORD_HEADER) return undefined;
    const [, , , high = 0, low = 0] = header.splice(0);
    const length = (high << 8) | low;
    if (length === 0 || length > LONGEST_RECORD) return 'a TLS record has an impossible length';
    if (this.#total + length > LONGEST_HELLO) return 'its hello is too long';
    this.#leftInRecord = length;
    return undefined;
  }

  #readFragment(fragment: Buffer): ClientHello | undefined {
    this.#fragments.push(fragment);
    this.#collected += fragment.length;
    this.#leftInRecord -= fragment.length;
    this.#total += fragment.length;
    for (const byte of fragment.subarray(0, MESSAGE_HEADER - this.#begin.length)) this.#begin.push(byte);
    const [type, high = 0, middle = 0, low = 0] = this.#begin;
    if (type !== CLIENT_HELLO) return { problem: 'its first message is no hello' };
    if (this.#begin.length < MESSAGE_HEADER) return undefined;
    const end = MESSAGE_HEADER + ((high << 16) | (middle << 8) | low);
    if (end > LONGEST_HELLO) return { problem: 'its hello is too long' };
    if (this.#collected + this.#leftInRecord > end)
      return { problem: 'something follows its hello in the same record' };
    if (this.#collected < end) return undefined;
    return readHello(new Reader(Buffer.concat(this.#fragments).subarray(MESSAGE_HEADER)));
  }
}

function readHello(hello: Reader): ClientHello {
  try {
    hello.skip(2 + 32); // version, random
    hello.skip(hello.number(1)); // session
    hello.skip(hello.number(2)); // cipher suites
    hello.skip(hello.number(1)); // compression
    const extensions = hello.left === 0 ? new Reader(Buffer.alloc(0)) : hello.part(hello.number(2));
    hello.end();
    return readExtensions(extensions);
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'its hello contradicts itself' };
    throw error;
  }
}

function readExtensions(extensions: Reader): ClientHello {
  const seen = new Set<number>();
  const names: string[] = [];
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const body = extensions.part(extensions.number(2));
    if (seen.has(type)) throw new RangeError('twice');
    seen.add(type);
    if (type === SERVER_NAME) names.push(...readNames(body));
  }
  return { names, hidden: HIDING.some((type) => seen.has(type)) };
}

function readNames(body: Reader): string[] {
  const list = body.part(body.number(2));
  body.end();
  const names: string[] = [];
  while (list.left > 0) {
    // Another type than 0, a DNS name, has never been defined.
    if (list.number(1) !== 0) throw new RangeError('type');
    names.push(list.text(list.number(2)));
  }
  return names;
}

/** Takes bytes from the front; throws `RangeError` where there are too few or too many. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: 1 | 2): number {
    return this.#take(size).readUIntBE(0, size);
  }

  skip(size: number): void {
    this.#take(size);
  }

  part(size: number): Reader {
    return new Reader(this.#take(size));
  }

  text(size: number): string {
    return this.#take(size).toString('latin1');
  }

  end(): void {
    if (this.left > 0) throw new RangeError('too many');
  }

  #take(size: number): Buffer {
    if (size > this.left) throw new RangeError('too few');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}
