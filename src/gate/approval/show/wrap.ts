/** Lines that are too long, divided into rows; nothing is left out. Pure. */
import type { Piece } from './visible.ts';

/** What some language or other ends a line with; as long as more follows, it is shown as if it did. */
const ENDS: ReadonlySet<string> = new Set(['⟦U+000D⟧', '⟦U+2028⟧', '⟦U+2029⟧', '⟦U+000C⟧', '⟦U+0085⟧']);

/** The rows that a line takes, at least one, each of at most so many columns, or of one piece that is wider. */
export function wrap(pieces: readonly Piece[], columns: number): Piece[][] {
  const rows: Piece[][] = [];
  let row: Piece[] = [];
  let room = columns;
  const turn = () => {
    rows.push(row);
    row = [];
    room = columns;
  };
  let last: Piece | undefined;
  for (const piece of pieces) {
    if (last?.kind === 'escape' && ENDS.has(last.text)) turn();
    last = piece;
    if (piece.kind !== 'ascii') {
      if (piece.columns > room && row.length > 0) turn();
      row.push(piece);
      room -= piece.columns;
      continue;
    }
    for (let from = 0; from < piece.text.length; ) {
      if (room <= 0) turn();
      const text = piece.text.slice(from, from + room);
      row.push({ kind: 'ascii', text, columns: text.length });
      from += text.length;
      room -= text.length;
    }
  }
  rows.push(row);
  return rows;
}
