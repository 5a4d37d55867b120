/**
 * A project file, whole, and what it would mean to trust it, as lines of text for a terminal. What is not ours stands
 * behind a mark on every row and is made visible: nothing in it can pretend to be one of our own lines.
 */
import type { TrustChange, TrustProposal } from '../../config/trustProposal.ts';
import { OURS } from '../../gate/approval/show/characters.ts';
import { sizeOf } from '../../gate/approval/show/facts.ts';
import { remarksOn } from '../../gate/approval/show/remarks.ts';
import { asText, columnsOf, type Piece, piecesOf, visibleLines } from '../../gate/approval/show/visible.ts';
import { wrap } from '../../gate/approval/show/wrap.ts';

const NARROWEST = 40;

/** Everything that a person must have seen before they answer. */
export function showTrust(proposal: TrustProposal, width: number): string[] {
  // The last column stays free: some terminals begin a new row as soon as it is used.
  const columns = Math.max(Number.isFinite(width) ? Math.floor(width) : 0, NARROWEST) - 1;
  const facts = factsOf(proposal).flatMap((fact) => rows(FACT, piecesOf(fact), columns));
  return [
    heading('Glovebox asks: shall this file count like your own settings?'),
    ...facts,
    ...wholeFile(proposal.bytes, columns),
    heading('End of the file. What trusting it would change'),
    ...effect(proposal).flatMap((text) => rows(ENTRY, piecesOf(text), columns)),
    heading('In short'),
    ...facts,
    ...MEANING.flatMap((text) => rows(ENTRY, piecesOf(text), columns)),
  ];
}

/** What a yes means, whatever stands in the file. */
const MEANING = [
  'From now on exactly this content, at this path, counts like your own settings file, in everything: it may pick a weaker runtime, raise every limit, open the network, name the programs that are started, stop questions and switch off the record.',
  'Files that it names are not part of it: what lies there may change without a question.',
  'With one byte changed it may only tighten again, and a warning says so.',
];

interface Marks {
  readonly first: string;
  readonly next: string;
}

const FACT: Marks = { first: '  ', next: `  ${OURS.continued} ` };
const ENTRY: Marks = { first: '  - ', next: `  ${OURS.continued} ` };

function heading(text: string): string {
  return `${OURS.frame}${OURS.frame} ${text}`;
}

function factsOf({ path, bytes, sha256, trust }: TrustProposal): string[] {
  return [
    `File     ${path}`,
    `Size     ${sizeOf(bytes)}`,
    `SHA-256  ${sha256}`,
    ...(trust.is === 'changed'
      ? [`Before   trusted at ${trust.pin.trustedAt} with another content, SHA-256 ${trust.pin.sha256}`]
      : []),
  ];
}

function wholeFile(bytes: Uint8Array, columns: number): string[] {
  const lines = visibleLines(bytes);
  // What follows the last line feed is no line.
  if (lines.at(-1)?.length === 0) lines.pop();
  const digits = String(lines.length).length;
  const next = `${OURS.continued.padStart(digits)} ${OURS.row} `;
  return [
    heading(`The file: ${sizeOf(bytes)}`),
    ...remarksOn(lines).flatMap((text) => rows(ENTRY, piecesOf(text), columns)),
    ...lines.flatMap((pieces, i) =>
      rows({ first: `${String(i + 1).padStart(digits)} ${OURS.row} `, next }, pieces, columns),
    ),
  ];
}

function effect({ changes, refusedNow }: TrustProposal): string[] {
  return [
    ...(refusedNow === undefined ? [] : [`Nothing runs here while nobody trusts it: ${refusedNow}`]),
    ...changes.map(changeText),
    ...(changes.length === 0 ? ['Nothing, against the settings that hold now.'] : []),
  ];
}

function changeText({ name, before, after, loosens, isPlace, variable }: TrustChange): string {
  return [
    `${name}: ${shown(before)} → ${shown(after)}`,
    ...(loosens === undefined ? [] : [`LOOSENS: ${loosens}`]),
    ...(isPlace ? ['what lies there is not part of this'] : []),
    ...(variable === undefined ? [] : [`${variable} is set here, and wins`]),
  ].join('; ');
}

function shown(value: unknown): string {
  return value === undefined ? 'unset' : JSON.stringify(value);
}

function rows({ first, next }: Marks, pieces: readonly Piece[], columns: number): string[] {
  const room = columns - Math.max(columnsOf(first), columnsOf(next));
  return wrap(pieces, room).map((row, i) => `${i === 0 ? first : next}${asText(row)}`);
}
