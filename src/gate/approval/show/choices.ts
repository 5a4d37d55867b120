/** What may be typed for an answer. Pure. */
import type { Answer, GrantWish, Question } from '../question.ts';

/** An hour. */
const GRANT_SEC = 3600;

export interface Choice {
  readonly typed: string;
  readonly meaning: string;
  readonly answer: Answer | 'show again';
}

/** A grave risk takes a whole word, so that no single key lets it happen. */
export function choicesOf({ risk, sandboxId, operation, code, unknownContent }: Question): Choice[] {
  const isGrave = risk.level === 'CRITICAL';
  const yes = isGrave ? 'yes' : 'y';
  const grant = (letter: string) => (isGrave ? `yes ${letter}` : letter);
  const choices: Choice[] = [
    { typed: yes, meaning: 'yes, this once', answer: { approved: true } },
    { typed: 'n', meaning: 'no (also for Enter alone)', answer: NO },
  ];
  if (unknownContent === undefined) {
    const meaning = 'yes, and exactly this again, for an hour';
    choices.push({ typed: grant('e'), meaning, answer: granted('exact') });
  }
  if (sandboxId !== null) {
    const meaning = `yes, and every ${operation} in this sandbox, whatever it is, for an hour`;
    choices.push({ typed: grant('o'), meaning, answer: granted('operation') });
  }
  if (code !== undefined) choices.push({ typed: 'v', meaning: 'show the code again', answer: 'show again' });
  return choices;
}

const NO: Answer = { approved: false, reason: 'A person said no on the terminal.' };

function granted(scope: GrantWish['scope']): Answer {
  return { approved: true, grant: { scope, forSec: GRANT_SEC } };
}

/** What was typed, whole, means; undefined for what is no answer. */
export function choiceFor(typed: string, choices: readonly Choice[]): Choice | undefined {
  const word = typed.trim().toLowerCase().replace(/ +/g, ' ');
  const meant = { '': 'n', no: 'n' }[word] ?? word;
  const found = choices.find((choice) => choice.typed === meant);
  return found ?? (meant === 'yes' ? choices.find((choice) => choice.typed === 'y') : undefined);
}
