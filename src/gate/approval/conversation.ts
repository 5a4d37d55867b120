import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { SandboxError } from '../../errors.ts';
import { Keys } from './keys.ts';
import type { Terminal } from './openTerminal.ts';
import type { Answer, Question } from './question.ts';
import { type Choice, choiceFor, choicesOf } from './show/choices.ts';
import { secondsBetween } from './show/facts.ts';
import { showCode, showProposal, showSummary } from './show/showQuestion.ts';
import type { Typed } from './typed.ts';

const MARK_PASTES = '\x1b[?2004h';
const MARK_NO_PASTES = '\x1b[?2004l';
const DEFAULT_COLUMNS = 80;
/** A terminal that takes nothing must not keep an answer, or the end of the question, waiting. */
const LAST_WORDS_MS = 500;
/** Timers may be early by about that. */
const EARLY_MS = 100;

/** One question on one terminal, from its first line to the last one. */
export class Conversation {
  readonly #terminal: Terminal;
  readonly #question: Question;
  readonly #options: { readonly width: number; readonly colours: boolean };
  readonly #choices: readonly Choice[];
  readonly #keys: Keys;
  /** Rejects when the terminal is gone. */
  readonly #lost: Promise<never>;
  readonly #lose: (error?: Error) => void;
  #isLost = false;

  constructor(terminal: Terminal, question: Question, colours: boolean) {
    this.#terminal = terminal;
    this.#question = question;
    this.#options = { width: terminal.columns ?? DEFAULT_COLUMNS, colours };
    this.#choices = choicesOf(question);
    let reject: (error: Error) => void = () => {};
    this.#lost = new Promise((_resolve, fail) => {
      reject = fail;
    });
    // Whoever holds the conversation sees it; after that it does not matter.
    this.#lost.catch(() => undefined);
    this.#lose = (cause) => {
      this.#isLost = true;
      reject(lost(cause));
    };
    this.#listen();
    this.#keys = new Keys(terminal.input, (before, after) => this.#echo(before, after));
  }

  /** Shows the whole question and resolves to the answer; rejects with the signal's reason when that comes first. */
  async hold(signal: AbortSignal): Promise<Answer> {
    const over = new AbortController();
    const aborted = new Promise<never>((_resolve, reject) => {
      const stop = () => reject(signal.reason);
      signal.addEventListener('abort', stop, { signal: over.signal });
      if (signal.aborted) stop();
    });
    try {
      // No echo, no signals: a key is ours from now on.
      this.#terminal.input.setRawMode?.(true);
      const interrupted = this.#keys.interrupted.then(() => cancelled('Ctrl-C'));
      const answer = await Promise.race([this.#lost, aborted, interrupted, this.#talk()]);
      await this.#lastWords(told(answer));
      return answer;
    } catch (error) {
      if (signal.aborted) await this.#lastWords(whyOver(this.#question, signal.reason));
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Leaves the terminal as it was. */
  async close(): Promise<void> {
    const { input, output } = this.#terminal;
    this.#keys.close();
    if (!input.destroyed) input.setRawMode?.(false);
    input.destroy();
    output.destroy();
    this.#terminal.close?.();
    await Promise.all([closed(input), closed(output)]);
    for (const stream of new Set<Readable | Writable>([input, output])) {
      for (const event of ENDS) stream.off(event, this.#lose);
    }
  }

  #listen(): void {
    const { input, output } = this.#terminal;
    for (const event of ENDS) {
      input.on(event, this.#lose);
      // A stream for both ways tells it once.
      if ((output as unknown) !== input) output.on(event, this.#lose);
    }
  }

  async #talk(): Promise<Answer> {
    await this.#write([MARK_PASTES, ...lines(showProposal(this.#question, this.#options))].join(''));
    for (let isFirst = true; ; isFirst = false) {
      if (!isFirst) await this.#write(lines(showCode(this.#question, this.#options)).join(''));
      const answer = await this.#askUntilAnswered();
      if (answer !== 'show again') return answer;
    }
  }

  async #askUntilAnswered(): Promise<Choice['answer']> {
    await this.#write(lines(showSummary(this.#question, this.#options)).join(''));
    for (;;) {
      await this.#keys.quiet();
      await this.#write(this.#prompt());
      const answer = this.#answerFor(await this.#keys.answer());
      if (answer !== undefined) return answer;
      await this.#write('\nThat is none of the answers. Type one, letter by letter, then Enter.\n');
    }
  }

  #prompt(): string {
    const left = secondsBetween(new Date().toISOString(), this.#question.expiresAt);
    return `${this.#choices.map(({ typed }) => typed).join(' / ')} (${left} s left)? `;
  }

  #answerFor(typed: Typed): Choice['answer'] | undefined {
    if (Date.now() >= Date.parse(this.#question.expiresAt)) return TOO_LATE;
    switch (typed.kind) {
      case 'line':
        return choiceFor(typed.text, this.#choices)?.answer;
      case 'cancelled':
        return cancelled(typed.key);
      case 'void':
        return undefined;
    }
  }

  #echo(before: string, after: string): void {
    const isLonger = after.startsWith(before);
    const text = isLonger ? after.slice(before.length) : '\b \b'.repeat(before.length) + after;
    if (text !== '' && !this.#isLost) this.#terminal.output.write(text);
  }

  #write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#terminal.output.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** What was answered, or why nobody is asked any more. */
  async #lastWords(text: string): Promise<void> {
    if (this.#isLost) return;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_WORDS_MS);
    });
    const written = this.#write(`\n${text}\n${MARK_NO_PASTES}`);
    // The terminal may go away just now; the answer stands.
    await Promise.race([patience, written.catch(() => undefined)]);
    clearTimeout(timer);
  }
}

const ENDS = ['error', 'end', 'close'] as const;

const TOO_LATE: Answer = { approved: false, reason: 'The answer came too late.' };

function cancelled(key: string): Answer {
  return { approved: false, reason: `A person pressed ${key} on the terminal.` };
}

function lost(cause: Error | undefined): SandboxError {
  return new SandboxError('APPROVAL_DENIED', 'The terminal went away before anybody answered.', {
    hint: 'Ask again from a terminal that stays open.',
    cause,
  });
}

function lines(all: readonly string[]): string[] {
  return all.map((line) => `${line}\n`);
}

function told(answer: Answer): string {
  if (!answer.approved) return 'Denied.';
  if (answer.grant === undefined) return 'Approved, this once.';
  return answer.grant.scope === 'exact'
    ? 'Approved, and exactly this for an hour.'
    : 'Approved, and such operations for an hour.';
}

function whyOver({ askedAt, expiresAt }: Question, reason: unknown): string {
  const isTimeUp =
    Date.now() >= Date.parse(expiresAt) - EARLY_MS || (reason as Error | undefined)?.name === 'TimeoutError';
  if (!isTimeUp) return 'Answered elsewhere.';
  return `No answer in ${secondsBetween(askedAt, expiresAt)} s: denied.`;
}

async function closed(stream: Readable | Writable): Promise<void> {
  if (!stream.closed) await once(stream, 'close');
}
