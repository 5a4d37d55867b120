/** The only control sequences that are ever written around what is shown; all else in it is made visible. */
import type { Piece } from './visible.ts';

export interface Style {
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
  readonly reverse: (text: string) => string;
}

const COLOURED: Style = {
  strong: (text) => `\x1b[1m${text}\x1b[22m`,
  faint: (text) => `\x1b[2m${text}\x1b[22m`,
  reverse: (text) => `\x1b[7m${text}\x1b[27m`,
};

const PLAIN: Style = { strong: same, faint: same, reverse: same };

function same(text: string): string {
  return text;
}

export function styleFor(colours: boolean): Style {
  return colours ? COLOURED : PLAIN;
}

/** A row of pieces: escapes reversed, marks faint. */
export function drawn(pieces: readonly Piece[], style: Style): string {
  return pieces
    .map(({ kind, text }) =>
      kind === 'escape' ? style.reverse(text) : kind === 'mark' ? style.faint(text) : text,
    )
    .join('');
}
