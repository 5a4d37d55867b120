/** What a person should know of a text before reading it, since eyes do not find it. Pure. */
import { unusualEncoding } from '../../python/encoding.ts';
import { count, plural } from './numbers.ts';
import { asText, type Piece } from './visible.ts';

/** Scripts with letters that look like those of another one of them. */
const ALIKE = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Cherokee', 'Coptic', 'Lisu'] as const;
const SCRIPTS = ALIKE.map((script) => new RegExp(`\\p{Script=${script}}`, 'u'));

const MAX_NAMED = 10;

/** Sentences on the characters that are no ASCII, on escapes, and on words that mix scripts; none for plain ASCII. */
export function remarksOn(lines: readonly (readonly Piece[])[]): string[] {
  const escapes = new Map<string, number>();
  const mixed: { readonly word: string; readonly line: number }[] = [];
  let outside = 0;
  for (const [i, line] of lines.entries()) {
    let isPlainAscii = true;
    for (const { kind, text } of line) {
      if (kind === 'ascii' || kind === 'mark') continue;
      if (kind === 'escape') escapes.set(text, (escapes.get(text) ?? 0) + 1);
      else isPlainAscii = false;
      outside += kind === 'other' ? [...text].length : 1;
    }
    if (isPlainAscii) continue;
    for (const word of mixedWords(asText(line))) mixed.push({ word, line: i + 1 });
  }
  const often = [...escapes].sort(([, a], [, b]) => b - a);
  return [
    ...(outside === 0 ? [] : [`${plural(outside, 'character')} outside printable ASCII.`]),
    ...remark('Shown as escapes', often, ([text, times]) => `${text.slice(1, -1)} (${count(times)})`),
    ...remark(
      'Words with letters of several scripts',
      mixed,
      ({ word, line }) => `${shortened(word)} (line ${count(line)})`,
    ),
  ];
}

/** A sentence on the encoding that Python is told to read it in, where that makes another text of it. */
export function remarksOnEncoding(bytes: Uint8Array, language: string | null): string[] {
  // A file that is written has no language: whoever reads it decides what it is.
  if (language !== 'python' && language !== null) return [];
  const encoding = unusualEncoding(Buffer.from(bytes).toString('utf8'));
  if (encoding === undefined) return [];
  return [
    `Line ${encoding.line} declares the encoding ${encoding.name}: Python reads another text than this one.`,
  ];
}

/** The first ones, and how many there are besides. */
function remark<T>(about: string, all: readonly T[], name: (one: T) => string): string[] {
  if (all.length === 0) return [];
  const more = all.length - MAX_NAMED;
  const named = all.slice(0, MAX_NAMED).map(name).join(', ');
  return [`${about}: ${named}${more > 0 ? ` and ${count(more)} more` : ''}.`];
}

const LONGEST_WORD = 60;

function shortened(word: string): string {
  const characters = [...word];
  return characters.length <= LONGEST_WORD ? word : `${characters.slice(0, LONGEST_WORD).join('')}…`;
}

function mixedWords(line: string): string[] {
  return (line.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).filter(isMixed);
}

function isMixed(word: string): boolean {
  return /[^\x00-\x7f]/.test(word) && SCRIPTS.filter((script) => script.test(word)).length > 1;
}
