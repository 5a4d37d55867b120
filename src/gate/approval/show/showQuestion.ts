/**
 * A question as lines of text for a terminal. What is not ours stands indented or behind a mark on every row, and is
 * never in the first column: nothing in it can pretend to be one of our own lines.
 */
import type { Question } from '../question.ts';
import { OURS } from './characters.ts';
import { choicesOf } from './choices.ts';
import { factsOf, NOT_SHOWN, type ShownCode, shownCode, sightLines, sizeOf } from './facts.ts';
import { count, plural } from './numbers.ts';
import { drawn, type Style, styleFor } from './style.ts';
import { type ValueRow, valueRows } from './values.ts';
import { columnsOf, type Piece, piecesOf } from './visible.ts';
import { wrap } from './wrap.ts';

export interface ShowOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly colours: boolean;
}

/** Everything that is asked, the whole code included, then the hash and what may be answered. */
export function showQuestion(question: Question, options: ShowOptions): string[] {
  return [...showProposal(question, options), ...showSummary(question, options)];
}

/** Everything that is asked, with the whole code. */
export function showProposal(question: Question, options: ShowOptions): string[] {
  const page = new Page(options);
  page.heading('Glovebox asks: may this be done?');
  for (const { label, text } of factsOf(question)) page.fact(label, text);
  page.values('Policy', question.policy);
  page.values('Parameters', question.parameters);
  if (question.sights.length > 0) page.list('It seems to do', sightLines(question));
  if (question.notInspected !== undefined) page.list('Not looked into', [question.notInspected]);
  showCodeOn(page, question);
  return page.lines;
}

/** The whole code, between two lines that measure it. */
export function showCode(question: Question, options: ShowOptions): string[] {
  const page = new Page(options);
  showCodeOn(page, question);
  return page.lines;
}

const MAX_SIGHTS_IN_SUMMARY = 5;

/** What fits on the last screen: what is asked in short, the hash, and what may be answered. */
export function showSummary(question: Question, options: ShowOptions): string[] {
  const page = new Page(options);
  const { operation, runtime, risk, sights, hash, notInspected, unknownContent } = question;
  page.heading('In short');
  page.fact('Asked for', `${operation} on ${runtime}`);
  page.fact('Risk', `${risk.level}: ${risk.description}`);
  if (question.code !== undefined) page.fact('Code', `${sizeOf(question.code.bytes)}, whole above`);
  if (unknownContent !== undefined) page.fact(NOT_SHOWN, unknownContent);
  page.fact('Findings', sights.length === 0 ? (notInspected ?? 'none') : plural(sights.length, 'finding'));
  const grave = sightLines({ ...question, sights: sights.filter(({ isDangerous }) => isDangerous) });
  page.list(undefined, grave.slice(0, MAX_SIGHTS_IN_SUMMARY));
  const more = grave.length - MAX_SIGHTS_IN_SUMMARY;
  if (more > 0) page.list(undefined, [`and ${count(more)} more dangerous ones, above`]);
  page.fact('Hash', hash);
  for (const { typed, meaning } of choicesOf(question)) page.fact(typed, meaning);
  return page.lines;
}

function showCodeOn(page: Page, question: Question): void {
  const code = shownCode(question);
  if (code === undefined) return;
  page.heading(`Code: ${code.size}`);
  page.fact('SHA-256', code.sha256);
  page.list(undefined, code.remarks);
  page.code(code);
  page.heading(`End of the code: ${code.size}`);
  page.fact('SHA-256', code.sha256);
}

const NARROWEST = 40;
const LABEL_COLUMNS = 10;
const INDENT = '  ';
/** Deeper values are told their depth instead of being moved out of sight. */
const MAX_INDENTS = 10;

/** Lines in the making. */
class Page {
  readonly lines: string[] = [];
  readonly #columns: number;
  readonly #style: Style;

  constructor({ width, colours }: ShowOptions) {
    // The last column stays free: some terminals begin a new row as soon as it is used.
    this.#columns = Math.max(Number.isFinite(width) ? Math.floor(width) : 0, NARROWEST) - 1;
    this.#style = styleFor(colours);
  }

  heading(text: string): void {
    const first = `${OURS.frame}${OURS.frame} `;
    this.#write(first, '   ', piecesOf(text), this.#style.strong);
  }

  /** A label of ours, and a text that need not be. */
  fact(label: string, text: string): void {
    const first = `${INDENT}${label.padEnd(LABEL_COLUMNS)} `;
    this.#write(first, ' '.repeat(first.length - 2) + OURS.continued.padEnd(2), piecesOf(text));
  }

  list(label: string | undefined, entries: readonly string[]): void {
    if (label !== undefined) this.lines.push(`${INDENT}${label}`);
    for (const entry of entries) this.#write(`${INDENT}${INDENT}- `, CONTINUED_ENTRY, piecesOf(entry));
  }

  values(label: string, values: Readonly<Record<string, unknown>>): void {
    const rows = valueRows(values);
    this.lines.push(`${INDENT}${label}${rows.length === 0 ? ': none' : ''}`);
    for (const row of rows) this.#value(row);
  }

  #value({ depth, text, isQuoted }: ValueRow): void {
    const indent = INDENT.repeat(2 + Math.min(depth, MAX_INDENTS));
    const level = depth > MAX_INDENTS ? `(level ${depth + 1}) ` : '';
    const mark = isQuoted ? `${OURS.row} ` : '';
    this.#write(`${indent}${level}${mark}`, `${indent}${OURS.continued} ${mark}`, piecesOf(text));
  }

  code({ lines, endsWithoutLineFeed }: ShownCode): void {
    const digits = String(lines.length).length;
    const next = `${OURS.continued.padStart(digits)} ${OURS.row} `;
    for (const [i, pieces] of lines.entries()) {
      this.#write(`${String(i + 1).padStart(digits)} ${OURS.row} `, next, pieces);
    }
    if (lines.length === 0) this.lines.push(`${INDENT}(empty)`);
    else if (endsWithoutLineFeed) this.lines.push(`${INDENT}(the last line has no line feed)`);
  }

  #write(
    first: string,
    next: string,
    pieces: readonly Piece[],
    decorate: (text: string) => string = (text) => text,
  ): void {
    const room = this.#columns - Math.max(columnsOf(first), columnsOf(next));
    for (const [i, row] of wrap(pieces, room).entries()) {
      this.lines.push((i === 0 ? first : next) + decorate(drawn(row, this.#style)));
    }
  }
}

const CONTINUED_ENTRY = `${INDENT}${INDENT}${OURS.continued} `;
