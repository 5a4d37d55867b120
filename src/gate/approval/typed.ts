/** What a person types on a terminal in raw mode, read byte by byte. Pure but for its own state. */

export type Typed =
  | { readonly kind: 'line'; readonly text: string }
  /** Enter, after something that no person types for an answer: a paste, a special key, a control character. */
  | { readonly kind: 'void' }
  /** Ctrl-C at any time, even within a paste; Ctrl-D where text is expected. */
  | { readonly kind: 'cancelled'; readonly key: 'Ctrl-C' | 'Ctrl-D' };

const ENTER = [0x0a, 0x0d];
const CTRL_C = 0x03;
const CTRL_D = 0x04;
const CTRL_U = 0x15;
const BACKSPACE = [0x08, 0x7f];
const ESCAPE = 0x1b;
const PASTE_BEGINS = '200~';
const PASTE_ENDS = '\x1b[201~';
const MAX_LENGTH = 40;
const MAX_SEQUENCE = 16;
const CANCELLED: Typed = { kind: 'cancelled', key: 'Ctrl-C' };

/** Reads line after line, and never takes what is pasted or a special key for letters. */
export class Typing {
  #text = '';
  #isVoid = false;
  #state: 'text' | 'escape' | 'sequence' | 'one more' | 'paste' = 'text';
  /** Of the sequence that has begun, or the last bytes of what is pasted. */
  #seen = '';

  /** Of the line that has begun, for the echo. */
  get text(): string {
    return this.#text;
  }

  /** Forgets the line that has begun, but not that something is being pasted. */
  restart(): void {
    this.#text = '';
    this.#isVoid = false;
  }

  /** All that these bytes end. */
  take(bytes: Uint8Array): Typed[] {
    const all: Typed[] = [];
    for (const byte of bytes) {
      const typed = byte === CTRL_C ? CANCELLED : this.#takeByte(byte);
      if (typed === undefined) continue;
      all.push(typed);
      this.restart();
    }
    return all;
  }

  #takeByte(byte: number): Typed | undefined {
    switch (this.#state) {
      case 'text':
        return this.#takeText(byte);
      case 'escape':
        this.#state = byte === 0x5b ? 'sequence' : byte === 0x4f ? 'one more' : 'text';
        this.#seen = '';
        return undefined;
      case 'sequence':
        this.#takeSequence(byte);
        return undefined;
      case 'one more':
        this.#state = 'text';
        return undefined;
      case 'paste':
        this.#seen = (this.#seen + String.fromCharCode(byte)).slice(-PASTE_ENDS.length);
        if (this.#seen === PASTE_ENDS) this.#state = 'text';
        return undefined;
    }
  }

  #takeText(byte: number): Typed | undefined {
    if (byte === CTRL_D) return { kind: 'cancelled', key: 'Ctrl-D' };
    if (ENTER.includes(byte)) return this.#isVoid ? { kind: 'void' } : { kind: 'line', text: this.#text };
    if (byte === ESCAPE) this.#state = 'escape';
    if (BACKSPACE.includes(byte)) this.#text = this.#text.slice(0, -1);
    else if (byte === CTRL_U) this.#text = '';
    else if (byte < 0x20 || byte > 0x7e || this.#text.length >= MAX_LENGTH) this.#isVoid = true;
    else this.#text += String.fromCharCode(byte);
    return undefined;
  }

  #takeSequence(byte: number): void {
    this.#seen += String.fromCharCode(byte);
    const isFinal = byte >= 0x40 && byte <= 0x7e;
    if (isFinal) this.#state = this.#seen === PASTE_BEGINS ? 'paste' : 'text';
    else if (byte < 0x20 || byte > 0x3f || this.#seen.length > MAX_SEQUENCE) this.#state = 'text';
  }
}
