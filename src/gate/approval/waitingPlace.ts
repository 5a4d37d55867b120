/** One question that waits, as a folder of its own: it comes whole, and goes whole, by being renamed. */
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isPrivateFolder, partOf, readPrivateFile, writeNew } from '../../files/privateFiles.ts';
import { asProcessOwner, lifeOf, thisProcess } from '../../files/processOwner.ts';
import { parseAnswer } from './answer.ts';
import { newId } from './ids.ts';
import type { Answer, Question } from './question.ts';
import { questionFromJson, questionToJson } from './questionJson.ts';

const QUESTION = 'question.json';
const OWNER = 'owner.json';
const ANSWER = 'answer.json';

/** Folders that come or go, under names that are no ids. */
const PASSING = /^(coming|going)-[0-9a-f]{16}$/;

/** Longer ones are not asked. */
const MAX_QUESTION_BYTES = 64 * 1024 * 1024;
const MAX_SMALL_BYTES = 64 * 1024;

/** How long a folder may be coming or going, and a question be there of whose asker nothing can be known. */
const STALE_AFTER_MS = 60_000;

/** What is under a name. */
export type Found =
  | {
      readonly found: 'question';
      readonly question: Question;
      readonly caller: string | undefined;
      readonly isAbandoned: boolean;
    }
  | { readonly found: 'nothing' }
  | { readonly found: 'unusable'; readonly reason: string };

/** Where one question waits. */
export class WaitingPlace {
  readonly #room: string;
  readonly path: string;

  /** The id is one that `isId` knows. */
  constructor(room: string, id: string) {
    this.#room = room;
    this.path = join(room, id);
  }

  /**
   * Throws where it cannot be put there whole, such as when one of its id waits already. The caller, for whom it is asked,
   * stands beside it, where only who may read the folder learns it.
   */
  put(question: Question, caller?: string): void {
    const text = questionToJson(question);
    if (text.length > MAX_QUESTION_BYTES) throw new Error(`a question of ${text.length} bytes is too long`);
    if (questionFromJson(text) === undefined) throw new Error('the question cannot be written down as it is');
    const coming = join(this.#room, `coming-${newId()}`);
    mkdirSync(coming, { mode: 0o700 });
    try {
      writeNew(join(coming, QUESTION), text);
      writeNew(join(coming, OWNER), JSON.stringify({ ...thisProcess(), caller }));
      renameSync(coming, this.path);
    } catch (error) {
      rmSync(coming, { recursive: true, force: true });
      throw error;
    }
  }

  /** What waits there; abandoned where the process that asks is dead, or where the question is long past. */
  read(now: number): Found {
    const question = readPrivateFile(join(this.path, QUESTION), MAX_QUESTION_BYTES);
    if (question.found !== 'text') return question;
    const owner = readPrivateFile(join(this.path, OWNER), MAX_SMALL_BYTES);
    if (owner.found !== 'text') return owner;
    const read = questionFromJson(question.text);
    const by = parsed(owner.text);
    const asker = asProcessOwner(by);
    if (read === undefined || asker === undefined)
      return { found: 'unusable', reason: 'it is not what was written there' };
    if (join(this.#room, read.id) !== this.path) return { found: 'unusable', reason: 'it is another one' };
    const isPast = now - Date.parse(read.expiresAt) > STALE_AFTER_MS;
    const isAbandoned = isPast || lifeOf(asker) === 'dead';
    return { found: 'question', question: read, caller: callerOf(by), isAbandoned };
  }

  /** Only the first answer is taken, and only while the question waits. */
  give(hash: string, answer: Answer): 'given' | 'answered_before' | 'gone' {
    const path = join(this.path, ANSWER);
    const part = partOf(path);
    try {
      writeNew(part, JSON.stringify({ hash, answer }));
      linkSync(part, path);
      return 'given';
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return 'answered_before';
      if (code === 'ENOENT') return 'gone';
      throw error;
    } finally {
      rmSync(part, { force: true });
    }
  }

  get isAnswered(): boolean {
    return existsSync(join(this.path, ANSWER));
  }

  /** Undefined while there is none; one that is not for this hash, or not to be believed, is a no. */
  answerTo(hash: string): Answer | undefined {
    const file = readPrivateFile(join(this.path, ANSWER), MAX_SMALL_BYTES);
    if (file.found === 'unusable') return no(`The answer is not believed: ${file.reason}.`);
    if (file.found === 'nothing') {
      if (existsSync(this.path)) return undefined;
      throw new Error('the question was taken away by somebody else');
    }
    const value = parsed(file.text) as { hash?: unknown; answer?: unknown } | null | undefined;
    if (value?.hash !== hash) return no('The answer was for something else.');
    return parseAnswer(value.answer) ?? no('The answer was not one that can be understood.');
  }

  /** Nobody can answer it from then on. */
  remove(): void {
    const going = join(this.#room, `going-${newId()}`);
    try {
      renameSync(this.path, going);
    } catch (error) {
      // ENOENT: it is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    rmSync(going, { recursive: true, force: true });
  }
}

/** Takes away what processes that died in the middle of coming or going have left. */
export function sweepPassing(room: string): void {
  if (!isPrivateFolder(room)) return;
  for (const name of readdirSync(room)) {
    if (!PASSING.test(name)) continue;
    const path = join(room, name);
    const status = statSync(path, { throwIfNoEntry: false });
    if (status !== undefined && Date.now() - status.mtimeMs > STALE_AFTER_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

function callerOf(owner: unknown): string | undefined {
  const { caller } = owner as { readonly caller?: unknown };
  return typeof caller === 'string' ? caller : undefined;
}

function no(reason: string): Answer {
  return { approved: false, reason };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A SyntaxError: it was changed or cut short.
    return undefined;
  }
}
