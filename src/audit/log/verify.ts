/** Checks a log from its first record to its last: each record's own hash, and that it follows the one before. */
import { basename, join } from 'node:path';
import { firstSeqOf, logFiles, readHead } from './files.ts';
import { GENESIS, openLine, type Place, type ReadRecord } from './line.ts';
import { readLines } from './readLines.ts';

/** What is wrong, and where. */
export interface Flaw {
  /**
   * `changed`: its bytes are not those that were written. `missing`: records are not there. `inserted`: it was not
   * there. `moved`: it stood somewhere else. `cut`: records behind the last one are not there. `torn`: its writer did
   * not end it. `replaced`: it is not the log that was signed.
   */
  readonly kind: 'changed' | 'missing' | 'inserted' | 'moved' | 'cut' | 'torn' | 'replaced';
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The number that the record has or should have. */
  readonly seq: number;
  readonly message: string;
}

export interface Verdict {
  /** How many records are whole, and follow one another. */
  readonly records: number;
  readonly first: number | undefined;
  readonly last: Place | undefined;
  readonly bytes: number;
  readonly flaws: readonly Flaw[];
}

/** After so many there is nothing to learn from more. */
const MAX_FLAWS = 100;

/** Reads all of it; throws what the file system throws where it cannot be read. */
export async function verifyLog(folder: string): Promise<Verdict> {
  const check = new Check();
  // Taken first: what others write meanwhile is behind it.
  const noted = readHead(folder);
  for (const file of logFiles(folder)) {
    check.begin(file);
    for await (const { bytes, isWhole } of readLines(join(folder, file))) check.take(bytes, isWhole);
  }
  return check.end(noted);
}

/** The same for records that were exported to one file: whether they begin or end too early cannot be seen there. */
export async function verifyExport(path: string): Promise<Verdict> {
  const check = new Check();
  check.begin(basename(path));
  for await (const { bytes, isWhole } of readLines(path)) check.take(bytes, isWhole);
  return check.end(undefined);
}

class Check {
  readonly #flaws: Flaw[] = [];
  /** Where the chain is, as far as it is known. */
  #last: Place | undefined;
  #first: number | undefined;
  #records = 0;
  #bytes = 0;
  #file = '';
  #line = 0;
  /** The numbers of records that were missed, and those that came. */
  readonly #missed = new Set<number>();

  begin(file: string): void {
    this.#file = file;
    this.#line = 0;
    const first = firstSeqOf(file);
    // Older files may have been given away; what is left begins where its first file says.
    this.#last ??= first === 1 ? { seq: 0, hash: GENESIS } : undefined;
  }

  take(line: Buffer, isWhole: boolean): void {
    this.#line++;
    this.#bytes += line.length + 1;
    const record = openLine(line);
    const first = firstSeqOf(this.#file);
    // An export says by its first record where it begins.
    const begin = Number.isNaN(first) ? (record?.seq ?? 1) : first;
    const expected = this.#last === undefined ? begin : this.#last.seq + 1;
    if (record === undefined) {
      if (isWhole) this.#flaw('changed', expected, `Record ${expected} was changed.`);
      else this.#flaw('torn', expected, `Record ${expected} was not written to its end.`);
      // What comes next is taken at its word; that it follows another is told by its own link.
      this.#last = isWhole ? { seq: expected, hash: '' } : this.#last;
      return;
    }
    this.#records++;
    this.#first ??= record.seq;
    this.#follow(record, expected);
    this.#recall(record);
  }

  end(noted: Place | undefined): Verdict {
    const last = this.#last;
    const seq = last?.seq ?? 0;
    if (noted !== undefined && noted.seq > seq) {
      this.#line++;
      const what = countOf(seq + 1, noted.seq);
      this.#flaw('cut', seq + 1, `${what} not there any more: the end of the log was cut off.`);
    } else if (noted !== undefined && noted.seq === seq && last?.hash !== '' && noted.hash !== last?.hash) {
      this.#flaw('changed', seq, `Record ${seq} is another one than was written.`);
    }
    return {
      ...{ records: this.#records, first: this.#first, bytes: this.#bytes, flaws: this.#flaws },
      last: last === undefined || last.seq === 0 ? undefined : last,
    };
  }

  /** What whoever wrote next has noted stays true, although the chain goes on. */
  #recall({ type, seq, at, missing }: ReadRecord): void {
    if (type !== 'log_repaired' || typeof missing !== 'object' || missing === null) return;
    const { after, noted } = missing as { readonly after?: number; readonly noted?: Partial<Place> };
    this.#flaw('cut', seq, `${countOf(Number(after) + 1, Number(noted?.seq))} not there any more on ${at}.`);
  }

  #follow(record: ReadRecord, expected: number): void {
    const { seq, prev, hash } = record;
    const before = this.#last;
    const isNext = seq === expected;
    const isLinked = before === undefined || before.hash === '' || before.hash === prev;
    if (isNext && isLinked) {
      this.#last = { seq, hash };
    } else if (isNext) {
      this.#flaw('changed', seq - 1, `Record ${seq - 1} is another one than record ${seq} follows.`);
      this.#last = { seq, hash };
    } else if (seq > expected) {
      this.#flaw('missing', expected, `${countOf(expected, seq - 1)} missing before record ${seq}.`);
      for (let missed = expected; missed < seq && this.#missed.size < 100_000; missed++)
        this.#missed.add(missed);
      this.#last = { seq, hash };
    } else if (this.#missed.has(seq)) {
      this.#flaw('moved', seq, `Record ${seq} stands behind record ${expected - 1}.`);
    } else {
      this.#flaw('inserted', seq, `Another record ${seq} stands behind record ${expected - 1}.`);
    }
  }

  #flaw(kind: Flaw['kind'], seq: number, message: string): void {
    if (this.#flaws.length < MAX_FLAWS)
      this.#flaws.push({ kind, file: this.#file, line: this.#line, seq, message });
  }
}

function countOf(first: number, last: number): string {
  return first === last ? `Record ${first} is` : `Records ${first} to ${last} are`;
}
