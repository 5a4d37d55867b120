/** Checks a log from its first record to its last: each record's own hash, and that it follows the one before. */
import { basename, join } from 'node:path';
import { firstSeqOf, logFiles, readHead } from './files.ts';
import { GENESIS, openLine, type Place, type ReadRecord } from './line.ts';
import { readLines } from './readLines.ts';

/** What is wrong, and where. */
export interface Flaw {
  /**
   * `changed`: its bytes are not those that were written. `missing`: records are not there. `inserted`: it was not
   * there. `moved`: it stood somewhere else. `cut`: records behind the last one are not there. `unnoted`: there is no
   * note of the last one, so nobody can tell. `torn`: its writer did not end it. `replaced`: it is not the log that was
   * signed.
   */
  readonly kind: 'changed' | 'missing' | 'inserted' | 'moved' | 'cut' | 'unnoted' | 'torn' | 'replaced';
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
  // Taken first: what others write meanwhile is behind it.
  const noted = readHead(folder);
  const files = logFiles(folder);
  const check = new Check(noted);
  for (const file of files) {
    check.begin(file);
    for await (const { bytes, isWhole } of readLines(join(folder, file))) check.take(bytes, isWhole);
  }
  // Whoever began a log meanwhile made a note before the first file.
  return check.end(files.length === 0 || (noted ?? readHead(folder)) !== undefined);
}

/** The same for records that were exported to one file: whether they begin or end too early cannot be seen there. */
export async function verifyExport(path: string): Promise<Verdict> {
  const check = new Check();
  check.begin(basename(path));
  for await (const { bytes, isWhole } of readLines(path)) check.take(bytes, isWhole);
  return check.end();
}

class Check {
  /** What was noted as the last record. */
  readonly #noted: Place | undefined;
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

  constructor(noted?: Place) {
    this.#noted = noted;
  }

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
    // What has no end is cut off by whoever writes next, even where nothing else of it is missing.
    const record = isWhole ? openLine(line) : undefined;
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
    const isLast = this.#last?.seq === record.seq && this.#last.hash === record.hash;
    if (isLast && record.seq === this.#noted?.seq && record.hash !== this.#noted.hash) {
      this.#flaw('changed', record.seq, `Record ${record.seq} is another one than was written.`);
    }
  }

  /** Without a note, what was cut off the end is not seen. */
  end(isNoted = true): Verdict {
    const last = this.#last;
    const noted = this.#noted;
    const seq = last?.seq ?? 0;
    this.#line++;
    if (noted !== undefined && noted.seq > seq) {
      const what = countOf(seq + 1, noted.seq);
      this.#flaw('cut', seq + 1, `${what} not there any more: the end of the log was cut off.`);
    } else if (!isNoted) {
      this.#flaw(
        'unnoted',
        seq + 1,
        `Where the log ended is not noted: what stood behind record ${seq} is not known.`,
      );
    }
    return {
      ...{ records: this.#records, first: this.#first, bytes: this.#bytes, flaws: this.#flaws },
      last: last === undefined || last.seq === 0 ? undefined : last,
    };
  }

  /** What whoever wrote next has noted stays true, although the chain goes on. */
  #recall({ type, seq, at, missing, changed, unnoted }: ReadRecord): void {
    if (type !== 'log_repaired') return;
    if (isObject(missing)) {
      const noted = isObject(missing['noted']) ? missing['noted'] : {};
      const what = countOf(numberOf(missing['after']) + 1, numberOf(noted['seq']));
      this.#flaw('cut', seq, `${what} not there any more on ${at}.`);
    }
    if (isObject(changed)) {
      const number = isObject(changed['noted']) ? numberOf(changed['noted']['seq']) : Number.NaN;
      this.#flaw('changed', number, `Record ${number} was another one on ${at} than was written.`);
    }
    if (isObject(unnoted)) {
      const after = numberOf(unnoted['after']);
      this.#flaw(
        'unnoted',
        seq,
        `Where the log ended was not noted on ${at}: what stood behind record ${after} is not known.`,
      );
    }
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}
