/** The end of an execution's output, as much of it as a page shows. */
import type { OutputPiece } from './backend.ts';
import { shown } from './shownText.ts';

/** Output in the order in which it came; neighbours are of different streams. */
export interface ShownOutput {
  readonly runs: readonly { readonly stream: 'stdout' | 'stderr'; readonly text: string }[];
  /** Where to go on. */
  readonly next: number;
  readonly leftOutCharacters: number;
  readonly droppedBytes: number;
}

/** More in one page is slow to show and not read. */
const MAX_CHARACTERS = 200_000;

/** What is there now. The text is made visible. */
export async function outputTail(pieces: AsyncIterable<OutputPiece>): Promise<ShownOutput> {
  const runs: { stream: 'stdout' | 'stderr'; text: string }[] = [];
  let [next, kept, leftOutCharacters, droppedBytes] = [0, 0, 0, 0];
  for await (const piece of pieces) {
    next = piece.next;
    if (piece.type === 'gap') {
      droppedBytes += piece.droppedBytes;
      continue;
    }
    runs.push({ stream: piece.stream, text: piece.text });
    kept += piece.text.length;
    for (let first = runs[0]; first !== undefined && kept > MAX_CHARACTERS; first = runs[0]) {
      const cut = cutOf(first.text, kept - MAX_CHARACTERS);
      first.text = first.text.slice(cut);
      kept -= cut;
      leftOutCharacters += cut;
      if (first.text === '') runs.shift();
    }
  }
  return { runs: joined(runs), next, leftOutCharacters, droppedBytes };
}

/** How much to cut off the beginning, so that no character is halved. */
function cutOf(text: string, wanted: number): number {
  if (wanted >= text.length) return text.length;
  return /[\udc00-\udfff]/.test(text.charAt(wanted)) ? wanted + 1 : wanted;
}

function joined(runs: readonly { stream: 'stdout' | 'stderr'; text: string }[]): ShownOutput['runs'] {
  const parts: { stream: 'stdout' | 'stderr'; texts: string[] }[] = [];
  for (const { stream, text } of runs) {
    const last = parts.at(-1);
    if (last?.stream === stream) last.texts.push(text);
    else parts.push({ stream, texts: [text] });
  }
  return parts.map(({ stream, texts }) => ({ stream, text: shown(texts.join('')) }));
}
