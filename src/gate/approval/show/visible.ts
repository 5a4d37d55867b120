/** Text from anywhere, cut into pieces that are safe to draw. Pure, and linear in the length of the text. */
import { isUtf8 } from 'node:buffer';
import { isMark, isPlain, mayCarry, OURS } from './characters.ts';

/** Something that is drawn; all but `ascii` is never divided between two rows. */
export interface Piece {
  /** `mark`: a tab or a space at the end of a line, shown as a sign of ours. */
  readonly kind: 'ascii' | 'other' | 'escape' | 'mark';
  readonly text: string;
  /** That it takes at most. */
  readonly columns: number;
}

/**
 * Text with everything that is not plainly visible as an escape: `⟦U+202E⟧`, `⟦0xFF⟧` for a byte that is no UTF-8,
 * `⇥` and three spaces for a tab, `␠` for a space at the end of a line. Line feeds stay. Two texts never look the same.
 */
export function visible(input: string | Uint8Array): string {
  return visibleLines(input).map(asText).join('\n');
}

/** The same as `visible` for what must stay on one line: line feeds are escapes too. */
export function visibleLine(input: string): string {
  return asText(piecesOf(input));
}

/** The pieces of each line, which line feeds alone divide. */
export function visibleLines(input: string | Uint8Array): Piece[][] {
  const isBytes = typeof input !== 'string';
  const text = isBytes ? decoded(input) : input;
  const characters = new Characters(isBytes ? escapeOfByte : escapeOfCharacter);
  return text.split('\n').map((line) => characters.piecesOf(line));
}

/** The pieces of one line; a line feed in it is an escape. */
export function piecesOf(line: string): Piece[] {
  return new Characters(escapeOfCharacter).piecesOf(line);
}

/** Cuts lines, and judges each character once, since hostile text has a million of the same. */
class Characters {
  readonly #escapeOf: (character: string) => string;
  readonly #known = new Map<string, Piece>();

  constructor(escapeOf: (character: string) => string) {
    this.#escapeOf = escapeOf;
  }

  piecesOf(line: string): Piece[] {
    const end = endOfContent(line);
    const pieces: Piece[] = [];
    for (let from = 0; from < end; ) {
      const afterAscii = endOfAscii(line, from, end);
      if (afterAscii > from) {
        pieces.push(pieceOf('ascii', line.slice(from, afterAscii)));
        from = afterAscii;
        continue;
      }
      const character = String.fromCodePoint(line.codePointAt(from) ?? 0);
      from += character.length;
      const last = pieces.at(-1);
      if (last?.kind === 'other' && isMark(character) && isPlain(character) && mayCarry(last.text, character))
        pieces[pieces.length - 1] = pieceOf('other', last.text + character);
      else pieces.push(this.#pieceFor(character));
    }
    for (let i = end; i < line.length; i++) pieces.push(TRAILING_SPACE);
    return pieces;
  }

  #pieceFor(character: string): Piece {
    const known = this.#known.get(character);
    if (known !== undefined) return known;
    const piece = this.#judge(character);
    this.#known.set(character, piece);
    return piece;
  }

  #judge(character: string): Piece {
    if (character === '\t') return TAB;
    if (isPlain(character) && !isMark(character)) return pieceOf('other', character);
    return pieceOf('escape', `${OURS.open}${this.#escapeOf(character)}${OURS.close}`);
  }
}

export function asText(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/**
 * Terminals disagree on what lies outside ASCII, and a row that the terminal divides itself would begin without our
 * mark: so all of it counts as wide.
 */
export function columnsOf(text: string): number {
  let columns = 0;
  for (let i = 0; i < text.length; i++) columns += text.charCodeAt(i) <= 0x7e ? 1 : 2;
  return columns;
}

function pieceOf(kind: Piece['kind'], text: string): Piece {
  return { kind, text, columns: kind === 'ascii' ? text.length : columnsOf(text) };
}

/** Of a fixed width, so that it is never taken for a tab and spaces. */
const TAB = pieceOf('mark', `${OURS.tab}   `);
const TRAILING_SPACE = pieceOf('mark', OURS.trailingSpace);

/** An expression for this would try again at each space of a long row of them. */
function endOfContent(line: string): number {
  let end = line.length;
  while (end > 0 && line[end - 1] === ' ') end--;
  return end;
}

function endOfAscii(line: string, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const code = line.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return i;
  }
  return end;
}

function escapeOfCharacter(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  return `U+${digits.padStart(4, '0')}`;
}

/** Bytes that are no UTF-8 become surrogates, which no UTF-8 is decoded to. */
const FIRST_BYTE = 0xdc00;

function escapeOfByte(character: string): string {
  const byte = (character.codePointAt(0) ?? 0) - FIRST_BYTE;
  return byte >= 0x80 && byte <= 0xff ? `0x${byte.toString(16).toUpperCase()}` : escapeOfCharacter(character);
}

/** Table 3-7 of the Unicode standard, as Latin 1; whatever else there is, one byte at a time. */
const WELL_FORMED_OR_BYTE =
  /(?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}){1,1000}|[\x80-\xff]/g;

function decoded(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  return buffer.toString('latin1').replace(WELL_FORMED_OR_BYTE, (match) => {
    const code = match.charCodeAt(0);
    if (match.length === 1 && code >= 0x80) return String.fromCharCode(FIRST_BYTE + code);
    return Buffer.from(match, 'latin1').toString('utf8');
  });
}
