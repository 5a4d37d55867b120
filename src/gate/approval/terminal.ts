import { SandboxError } from '../../errors.ts';
import { Conversation } from './conversation.ts';
import { isInBackground, openTerminal, type Terminal } from './openTerminal.ts';
import { type Answer, type Approver, proposalHash, type Question } from './question.ts';
import type { TerminalTurns } from './terminalTurns.ts';

export interface TerminalApproverOptions {
  /** Another terminal than the one that controls this process; its streams are closed after each question. */
  readonly open?: () => Terminal;
  readonly colours?: boolean;
  /** Keeps other processes that would ask there waiting. */
  readonly turns?: TerminalTurns;
}

/**
 * Asks on the terminal that controls this process, whatever its own streams are, one question at a time. Rejects where
 * there is none, and with the signal's reason when that comes first.
 */
export class TerminalApprover implements Approver {
  readonly name = 'terminal';
  readonly #open: () => Terminal;
  readonly #colours: boolean;
  readonly #turns: TerminalTurns | undefined;
  /** Settles when the terminal is free. */
  #free: Promise<unknown> = Promise.resolve();

  constructor({ open = openControllingTerminal, colours = true, turns }: TerminalApproverOptions = {}) {
    this.#open = open;
    this.#colours = colours;
    this.#turns = turns;
  }

  ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const before = this.#free;
    const answer = this.#askAfter(before, question, signal);
    this.#free = Promise.allSettled([before, answer]);
    return answer;
  }

  async #askAfter(before: Promise<unknown>, question: Question, signal: AbortSignal): Promise<Answer> {
    await unlessAborted(before, signal);
    assertHashed(question);
    const talk = () => this.#talk(question, signal);
    return this.#turns === undefined ? talk() : this.#turns.hold(talk, signal);
  }

  async #talk(question: Question, signal: AbortSignal): Promise<Answer> {
    const conversation = new Conversation(this.#open(), question, this.#colours);
    try {
      return await conversation.hold(signal);
    } finally {
      await conversation.close();
    }
  }
}

/** Rejects with the signal's reason when that comes first, and leaves no listener. */
async function unlessAborted(wait: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const over = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { signal: over.signal });
  });
  try {
    await Promise.race([wait, aborted]);
  } finally {
    over.abort();
  }
}

/** What is shown is what the answer is bound to, or nothing is asked. */
function assertHashed(question: Question): void {
  if (proposalHash(question) === question.hash) return;
  throw new SandboxError('APPROVAL_EXPIRED', 'What is to be approved is not what its hash was made of.', {
    hint: 'Ask again for what is wanted now.',
    details: { question: question.id },
  });
}

function openControllingTerminal(): Terminal {
  if (isInBackground())
    throw nobody('Glovebox runs in the background of its terminal, so nobody can answer.');
  try {
    return openTerminal();
  } catch (cause) {
    throw nobody('There is no terminal on which a person could be asked.', cause);
  }
}

function nobody(message: string, cause?: unknown): SandboxError {
  return new SandboxError('APPROVAL_DENIED', message, {
    hint: 'Start Glovebox in the foreground of a terminal, or set up another way to approve.',
    cause,
  });
}
