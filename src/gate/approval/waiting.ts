/**
 * Questions that wait in a folder until another process of the same user answers them.
 *
 * What is believed: only this user (and root) can write there, so whoever answers is taken for the user. That is the
 * limit of it: an agent that has a shell of its own on this host, outside any sandbox, can answer as the user can. So
 * whatever answers for a person has to make sure that there is one, as by a terminal. Sandboxed code cannot reach the
 * folder: no runtime shows it to a guest, and it must not lie in a workspace.
 */
import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { isPrivateFolder, makePrivateFolder } from '../../files/privateFiles.ts';
import { parseAnswer } from './answer.ts';
import type { Clock } from './clock.ts';
import { isId } from './ids.ts';
import type { Answer, Approver, Question } from './question.ts';
import { sweepPassing, WaitingPlace } from './waitingPlace.ts';

export interface WaitingRoomOptions {
  readonly folder: string;
  readonly clock?: Clock;
  /** Told, once for each, of questions that are not believed or cannot be taken away. */
  readonly onWarning?: (message: string) => void;
  /** For whom it is asked at the moment, by a name that nobody else knows; undefined where that is nobody in particular. */
  readonly caller?: () => string | undefined;
  /** How often it is looked for an answer of which the system did not tell us; 1 when absent. */
  readonly pollSec?: number;
}

/** A way to a person by a folder: one process asks there, and another lists, shows and answers. */
export class WaitingRoom implements Approver {
  readonly name = 'approvals';
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #onWarning: (message: string) => void;
  readonly #caller: () => string | undefined;
  readonly #pollMs: number;
  readonly #warned = new Set<string>();

  constructor({
    folder,
    clock = Date.now,
    onWarning = () => {},
    caller = () => undefined,
    pollSec = 1,
  }: WaitingRoomOptions) {
    this.#folder = folder;
    this.#caller = caller;
    this.#clock = clock;
    this.#onWarning = onWarning;
    this.#pollMs = pollSec * 1000;
  }

  /** Resolves when another process has answered; the question is gone then, as when the signal comes. */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (!isId(question.id)) throw new Error('the id of the question is not one of ours');
    makePrivateFolder(this.#folder);
    this.#sweep();
    const place = new WaitingPlace(this.#folder, question.id);
    place.put(question, this.#caller());
    return whenAnswered(place, question.hash, signal, this.#pollMs);
  }

  /**
   * What waits for an answer now, the oldest first, of one caller where one is named; what dead processes have asked is
   * taken away.
   */
  list(caller?: string): readonly Question[] {
    this.#sweep();
    return this.#ids()
      .flatMap((id) => this.#waitingAt(id))
      .filter((waiting) => caller === undefined || waiting.caller === caller)
      .map(({ question }) => question)
      .sort((a, b) => Date.parse(a.askedAt) - Date.parse(b.askedAt));
  }

  /**
   * One that waits, whose hash is that of what it shows. Throws `INPUT_INVALID` for what is no id, and
   * `APPROVAL_EXPIRED` where nothing of this id waits (any more).
   */
  read(id: string): Question {
    if (!isId(id)) {
      throw new SandboxError(
        'INPUT_INVALID',
        `${JSON.stringify(String(id).slice(0, 40))} is no question's id.`,
        {
          hint: 'An id has 16 digits, of 0 to 9 and a to f. See what waits: glovebox approvals.',
        },
      );
    }
    const [waiting] = isPrivateFolder(this.#folder) ? this.#waitingAt(id) : [];
    if (waiting === undefined) throw tooLate(`No question of the id ${id} waits for an answer`);
    return waiting.question;
  }

  /**
   * Answers a question; the hash is that of what the person has seen. Throws `APPROVAL_EXPIRED`, and nothing is answered,
   * where it does not wait any more, was answered by somebody else or is about something else.
   */
  answer(id: string, hash: string, answer: Answer): void {
    const given = parseAnswer(answer);
    if (given === undefined) {
      throw new SandboxError(
        'INPUT_INVALID',
        'The answer is neither a yes nor a no that can be understood.',
        {
          hint: 'Times and counts of a grant are above 0, and counts are whole.',
        },
      );
    }
    const question = this.read(id);
    if (question.hash !== hash) {
      throw new SandboxError(
        'APPROVAL_EXPIRED',
        `The answer is for something else than the question ${id}.`,
        {
          hint: `See what it asks for now: glovebox approvals show ${id}.`,
          details: { id, asked: question.hash, answered: hash },
        },
      );
    }
    const done = new WaitingPlace(this.#folder, id).give(hash, given);
    if (done === 'answered_before') throw tooLate(`The question ${id} has been answered`);
    if (done === 'gone') throw tooLate(`The question ${id} does not wait any more`);
  }

  #waitingAt(id: string): { readonly question: Question; readonly caller: string | undefined }[] {
    const place = new WaitingPlace(this.#folder, id);
    const now = this.#clock();
    const found = place.read(now);
    if (found.found === 'unusable') this.#warn(place.path, found.reason);
    if (found.found !== 'question' || found.isAbandoned || place.isAnswered) return [];
    return now < Date.parse(found.question.expiresAt) ? [found] : [];
  }

  /** What cannot be taken away must not keep others from asking. */
  #sweep(): void {
    for (const id of this.#ids()) {
      const place = new WaitingPlace(this.#folder, id);
      const found = place.read(this.#clock());
      if (found.found !== 'question' || !found.isAbandoned) continue;
      try {
        place.remove();
      } catch (error) {
        this.#warn(place.path, (error as Error).message);
      }
    }
    sweepPassing(this.#folder);
  }

  #ids(): string[] {
    return isPrivateFolder(this.#folder) ? readdirSync(this.#folder).filter(isId) : [];
  }

  #warn(path: string, reason: string): void {
    if (this.#warned.has(path)) return;
    this.#warned.add(path);
    this.#onWarning(`The question in ${JSON.stringify(path)} does not count: ${reason}.`);
  }
}

/** Told by the system, and looked for now and then besides: it does not always tell. */
function whenAnswered(
  place: WaitingPlace,
  hash: string,
  signal: AbortSignal,
  pollMs: number,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let isOpen = true;
    const end = (settle: () => void): void => {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(timer);
      watcher?.close();
      signal.removeEventListener('abort', leave);
      try {
        place.remove();
        settle();
      } catch (error) {
        // What cannot be taken away was not in our hands alone.
        reject(error);
      }
    };
    const look = (): void => {
      if (!isOpen) return;
      try {
        const answer = place.answerTo(hash);
        if (answer !== undefined) end(() => resolve(answer));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const leave = (): void => end(() => reject(new Error('nobody waits for the answer any more')));
    const timer = setInterval(look, pollMs);
    const watcher = watched(place.path, look);
    signal.addEventListener('abort', leave, { once: true });
    // It may have come before we were told of anything.
    look();
  });
}

/** Undefined where the system cannot tell, as when it has no more watches to give. */
function watched(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, onChange);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    // ENOSPC, EMFILE, or the folder is gone already: it is looked for besides.
    return undefined;
  }
}

function tooLate(what: string): SandboxError {
  return new SandboxError('APPROVAL_EXPIRED', `${what}.`, {
    hint: 'What was not answered in time was denied; it has to be asked for again. See what waits: glovebox approvals.',
  });
}
