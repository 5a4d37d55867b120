/** What every way of showing a question says of it. Pure. */
import { type Question, sha256 } from '../question.ts';
import { count, plural } from './numbers.ts';
import { remarksOn, remarksOnEncoding } from './remarks.ts';
import { type Piece, visibleLines } from './visible.ts';

/** Neither label nor text is made visible yet. */
export interface Fact {
  readonly label: string;
  readonly text: string;
}

/** What is asked, of whom, how risky that is and how long there is to answer. */
export function factsOf(question: Question): Fact[] {
  const { operation, runtime, sandboxId, code, unknownContent, risk, id, askedBy } = question;
  const language = code?.language ?? null;
  const rule = risk.rule === undefined ? '' : ` (rule ${risk.rule})`;
  return [
    { label: 'Operation', text: language === null ? operation : `${operation}, ${language}` },
    ...(askedBy === undefined ? [] : [{ label: 'Asked by', text: askedBy }]),
    { label: 'Runtime', text: runtime },
    { label: 'Sandbox', text: sandboxId ?? (operation === 'call_tool' ? OUTSIDE : OF_ITS_OWN) },
    ...(unknownContent === undefined ? [] : [{ label: NOT_SHOWN, text: unknownContent }]),
    { label: 'Risk', text: `${risk.level}: ${risk.description}${rule}` },
    { label: 'Time', text: timeToAnswer(question) },
    { label: 'Question', text: id },
  ];
}

const OF_ITS_OWN = 'one of its own, gone afterwards';
const OUTSIDE = 'none: it runs outside of any sandbox, with all that you may do';

/** What is asked for as well, though nobody has read it. */
export const NOT_SHOWN = 'Not shown';

function timeToAnswer({ askedAt, expiresAt }: Question): string {
  return `${count(secondsBetween(askedAt, expiresAt))} s to answer, until ${expiresAt}`;
}

/** Whole seconds, at least 0. */
export function secondsBetween(from: string, to: string): number {
  const seconds = Math.round((Date.parse(to) - Date.parse(from)) / 1000);
  return Number.isFinite(seconds) ? Math.max(seconds, 0) : 0;
}

/** One sentence for each thing that the code seems to do, not made visible yet. */
export function sightLines({ sights }: Question): string[] {
  return sights.map(
    ({ line, name, why, effect, isDangerous }) =>
      `line ${count(line)}${isDangerous ? ', DANGEROUS' : ''}: ${name} ${why} (${effect})`,
  );
}

/** The code as it is shown and measured. */
export interface ShownCode {
  readonly language: string | null;
  readonly lines: readonly (readonly Piece[])[];
  readonly endsWithoutLineFeed: boolean;
  /** What eyes do not find in it, as sentences. */
  readonly remarks: readonly string[];
  readonly size: string;
  /** Of the bytes alone, as any other tool computes it. */
  readonly sha256: string;
}

export function shownCode({ code }: Question): ShownCode | undefined {
  if (code === undefined) return undefined;
  const { language, bytes } = code;
  const lines = visibleLines(bytes);
  const endsWithoutLineFeed = bytes.length > 0 && bytes.at(-1) !== LINE_FEED;
  // What follows the last line feed is no line.
  if (!endsWithoutLineFeed) lines.pop();
  const remarks = [...remarksOnEncoding(bytes, language), ...remarksOn(lines)];
  return { language, lines, endsWithoutLineFeed, remarks, size: sizeOf(bytes), sha256: sha256(bytes) };
}

const LINE_FEED = 0x0a;

/** `5,000 lines, 1,000,000 bytes`. */
export function sizeOf(bytes: Uint8Array): string {
  let lines = bytes.length > 0 && bytes.at(-1) !== LINE_FEED ? 1 : 0;
  for (const byte of bytes) if (byte === LINE_FEED) lines++;
  return `${plural(lines, 'line')}, ${plural(bytes.length, 'byte')}`;
}
