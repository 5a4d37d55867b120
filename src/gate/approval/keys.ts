import type { Readable } from 'node:stream';
import { type Typed, Typing } from './typed.ts';

/** So long nothing must come before a question is open: what was typed or pasted before it is no answer to it. */
const QUIET_MS = 200;

/** The keys that are pressed while a question is shown; none before it is open counts. */
export class Keys {
  readonly #input: Readable;
  readonly #echo: (before: string, after: string) => void;
  readonly #typing = new Typing();
  #waiting: { readonly for: 'quiet' | 'answer'; readonly done: (typed: Typed) => void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Settles as soon as Ctrl-C is pressed, whatever is being waited for. */
  readonly interrupted: Promise<Typed>;
  #interrupt: (typed: Typed) => void = () => {};

  constructor(input: Readable, echo: (before: string, after: string) => void) {
    this.#input = input;
    this.#echo = echo;
    this.interrupted = new Promise((resolve) => {
      this.#interrupt = resolve;
    });
    input.on('data', this.#take);
  }

  /** Resolves once no key has been pressed for a moment. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { for: 'quiet', done: () => resolve() };
      this.#startTimer();
    });
  }

  /** The next line that is typed from now on. */
  answer(): Promise<Typed> {
    this.#typing.restart();
    return new Promise((resolve) => {
      this.#waiting = { for: 'answer', done: resolve };
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting = undefined;
    this.#input.off('data', this.#take);
  }

  #take = (bytes: Uint8Array): void => {
    const before = this.#typing.text;
    const all = this.#typing.take(bytes);
    const cancelled = all.find((typed) => typed.kind === 'cancelled' && typed.key === 'Ctrl-C');
    if (cancelled !== undefined) this.#interrupt(cancelled);
    if (this.#waiting?.for === 'quiet') this.#startTimer();
    if (this.#waiting?.for !== 'answer') return;
    const [first] = all;
    if (first === undefined) this.#echo(before, this.#typing.text);
    if (first?.kind === 'line') this.#echo(before, first.text);
    if (first === undefined) return;
    const { done } = this.#waiting;
    this.#waiting = undefined;
    done(first);
  };

  #startTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.done({ kind: 'void' });
    }, QUIET_MS);
  }
}
