import { fdatasync, fstatSync, ftruncateSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isSandboxError, SandboxError } from '../../errors.ts';
import { FolderLock } from '../../files/folderLock.ts';
import { makeFolders } from '../../files/makeFolders.ts';
import { syncFolder } from '../../files/privateFiles.ts';
import {
  closeQuietly,
  fileName,
  firstSeqOf,
  hasLine,
  logFiles,
  openHead,
  openLog,
  readHead,
  tailOf,
  writeHead,
} from './files.ts';
import { eventText, GENESIS, openLine, type Place, sealLine } from './line.ts';

/** `always`: a record that is written survives a loss of power. `never`: it survives the end of the process. */
export type Fsync = 'always' | 'never';

export interface AuditLogOptions {
  readonly folder: string;
  readonly fsync?: Fsync;
  /** A file that has become larger is followed by another. */
  readonly maxFileBytes?: number;
  /** Told what was found wrong with the log's end, and was noted in it. */
  readonly onRepair?: (repair: Repair) => void;
}

/** What was wrong with the end of the log when we came to it. */
export type Repair = {
  readonly type: 'log_repaired';
  /** The bytes of a record that its writer did not end. */
  readonly cut_bytes: number;
  /** The last record that had been noted, where it is not there any more. */
  readonly missing?: { readonly after: number; readonly noted: Place };
  /** The last record that had been noted, where another one has its number now. */
  readonly changed?: { readonly noted: Place };
  /** The last record that is there, where none had been noted: there may have been more. */
  readonly unnoted?: { readonly after: number };
};

/** Something that happened, as it is recorded; the log adds its number, its time and its hash. */
export type AuditEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

const sync = promisify(fdatasync);

interface Waiting {
  readonly text: string;
  readonly resolve: (place: Place) => void;
  readonly reject: (error: unknown) => void;
}

const START: Place = { seq: 0, hash: GENESIS };

const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** What is written while the lock is held at one time. */
const MAX_BATCH = 1000;

/** Where the log ended when we last wrote. */
interface Left {
  readonly name: string;
  readonly size: number;
  readonly last: Place;
}

/** A file of the log, open while something is written. */
interface OpenFile {
  readonly name: string;
  readonly descriptor: number;
  size: number;
}

/**
 * A log to which any number of processes append: lines of JSON, each with the hash of the one before it, in files that
 * follow one another. Nothing of it is open while nothing is written, so there is nothing to close.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #lock: FolderLock;
  /** Where we left it. */
  #left: Left | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#lock = new FolderLock(options.folder, { what: 'The audit log', code: 'AUDIT_UNAVAILABLE' });
  }

  /** Resolves when it is written. Rejects with `AUDIT_UNAVAILABLE` when it is not, and then nothing of it is. */
  append(event: AuditEvent): Promise<Place> {
    return new Promise((resolve, reject) => {
      let text: string;
      try {
        text = eventText(event);
      } catch (error) {
        // What cannot be written is nobody else's matter.
        reject(unavailable(this.#options.folder, error));
        return;
      }
      this.#waiting.push({ text, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  /** Together what has come together: the lock is taken, and the disk waited for, once for all of it. */
  async #write(): Promise<void> {
    // What is appended in the same breath comes along.
    await undefined;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      try {
        const places = await this.#writeBatch(batch.map(({ text }) => text));
        for (const [i, place] of places.entries()) batch[i]?.resolve(place);
      } catch (error) {
        // What is behind the last whole record is not known any more.
        this.#left = undefined;
        const told = unavailable(this.#options.folder, error);
        for (const { reject } of batch) reject(told);
      }
    }
    // Whoever appends from now on begins anew.
    this.#writing = undefined;
  }

  async #writeBatch(texts: readonly string[]): Promise<Place[]> {
    const { folder, fsync } = this.#options;
    const made = makeFolders(folder, 0o700);
    if (made !== undefined && fsync === 'always') syncNamesOf(folder, made);
    const writer = new Writer(this.#options);
    try {
      const places = await this.#lock.hold(() => {
        writer.catchUp(this.#left);
        writer.turnOver();
        return writer.put(texts);
      });
      this.#left = writer.left;
      if (fsync === 'always') await writer.sync();
      return places;
    } finally {
      writer.close();
    }
  }
}

/** Writes at the end of the log, while the lock is held. */
class Writer {
  readonly #options: AuditLogOptions;
  #file: OpenFile | undefined;
  #head: number | undefined;
  #last: Place = START;
  /** All files of the log that are open. */
  readonly #descriptors: number[] = [];
  #hasNewFiles = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  get left(): Left {
    const { name, size } = this.#current();
    return { name, size, last: this.#last };
  }

  /** Finds where the log ends, reading it only when somebody else has written meanwhile; mends what is wrong there. */
  catchUp(left: Left | undefined): void {
    const { folder } = this.#options;
    const noted = readHead(folder);
    this.#head = openHead(folder);
    if (left !== undefined && noted !== undefined && this.#resume(left, noted)) return;
    // Noted before there is a file: where there are files and no note, somebody has taken it away.
    if (noted === undefined && logFiles(folder).length === 0) writeHead(this.#head, START);
    const end = findEnd(folder);
    // Whoever made it may have been ended before the disk had its name.
    this.#hasNewFiles = noted === undefined || left?.name !== end.name;
    this.#file = this.#opened(end);
    this.#last = end.last;
    if (end.torn > 0) ftruncateSync(end.descriptor, end.size);
    const fault = faultOf(folder, readHead(folder), end.last);
    if (end.torn === 0 && fault === undefined) return;
    const repair: Repair = { type: 'log_repaired', cut_bytes: end.torn, ...fault };
    this.put([eventText(repair)]);
    this.#options.onRepair?.(repair);
  }

  /** Goes on in another file when this one is large: its last record says where. */
  turnOver(): void {
    if (this.#current().size < (this.#options.maxFileBytes ?? MAX_FILE_BYTES)) return;
    const name = fileName(this.#last.seq + 2);
    this.put([eventText({ type: 'log_continues', file: name })]);
    this.#hasNewFiles = true;
    this.#file = this.#opened({ name, descriptor: openLog(join(this.#options.folder, name)), size: 0 });
  }

  /** All of it or nothing. */
  put(texts: readonly string[]): Place[] {
    const file = this.#current();
    const places: Place[] = [];
    const lines: string[] = [];
    let last = this.#last;
    for (const text of texts) {
      const { line, place } = sealLine(last, new Date().toISOString(), text);
      lines.push(`${line}\n`);
      last = place;
      places.push(place);
    }
    const bytes = Buffer.from(lines.join(''));
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file.descriptor, bytes, at);
    } catch (error) {
      ftruncateSync(file.descriptor, file.size);
      throw error;
    }
    file.size += bytes.length;
    this.#last = last;
    if (this.#head !== undefined) writeHead(this.#head, last);
    return places;
  }

  /** Waits until the disk has what was written, and the names of files that are new to us. */
  async sync(): Promise<void> {
    await Promise.all(this.#descriptors.map((descriptor) => sync(descriptor)));
    if (!this.#hasNewFiles) return;
    // Later it may lag behind the log: that is no flaw.
    if (this.#head !== undefined) await sync(this.#head);
    syncFolder(this.#options.folder);
  }

  close(): void {
    for (const descriptor of this.#descriptors) closeQuietly(descriptor);
    if (this.#head !== undefined) closeQuietly(this.#head);
  }

  #resume(left: Left, noted: Place): boolean {
    if (noted.seq !== left.last.seq || noted.hash !== left.last.hash) return false;
    const descriptor = openLog(join(this.#options.folder, left.name));
    const file = this.#opened({ name: left.name, descriptor, size: left.size });
    if (fstatSync(descriptor).size !== left.size) return false;
    this.#file = file;
    this.#last = left.last;
    return true;
  }

  #opened({ name, descriptor, size }: OpenFile): OpenFile {
    this.#descriptors.push(descriptor);
    return { name, descriptor, size };
  }

  #current(): OpenFile {
    if (this.#file === undefined) throw new Error('no file of the log is open');
    return this.#file;
  }
}

/** Waits until the disk has the names of folders that were made: of this one, and of those above it up to another. */
function syncNamesOf(folder: string, made: string): void {
  const top = dirname(resolve(made));
  for (let path = resolve(folder); path !== top; path = dirname(path)) syncFolder(dirname(path));
}

/** Where the next record goes; the file is open then, and everything behind `size` is no whole record. */
function findEnd(folder: string): OpenFile & { readonly torn: number; readonly last: Place } {
  const names = logFiles(folder);
  const name = names.at(-1) ?? fileName(1);
  const descriptor = openLog(join(folder, name));
  try {
    const { last, torn, size } = tailOf(descriptor);
    // Its maker has died before it wrote the first record.
    const place = last === undefined ? endOf(folder, names.at(-2)) : placeOf(last, name);
    return { name, descriptor, size: size - torn, torn, last: place };
  } catch (error) {
    closeQuietly(descriptor);
    throw error;
  }
}

function endOf(folder: string, name: string | undefined): Place {
  if (name === undefined) return START;
  const descriptor = openLog(join(folder, name));
  try {
    const { last } = tailOf(descriptor);
    return last === undefined ? START : placeOf(last, name);
  } finally {
    closeQuietly(descriptor);
  }
}

function placeOf(line: Buffer, name: string): Place {
  const record = openLine(line);
  if (record === undefined) throw new Error(`the last record in ${name} was changed`);
  return { seq: record.seq, hash: record.hash };
}

/** What does not fit between the note of the last record and the last one that is there. */
function faultOf(
  folder: string,
  noted: Place | undefined,
  last: Place,
): Pick<Repair, 'missing' | 'changed' | 'unnoted'> | undefined {
  if (noted === undefined) return { unnoted: { after: last.seq } };
  if (noted.seq > last.seq) return { missing: { after: last.seq, noted } };
  const isThere = noted.seq === last.seq ? noted.hash === last.hash : isFollowed(folder, noted);
  return isThere ? undefined : { changed: { noted } };
}

/** Whether another record follows this one: its writer was ended before it noted that. */
function isFollowed(folder: string, { seq, hash }: Place): boolean {
  const name = logFiles(folder).findLast((file) => firstSeqOf(file) <= seq + 1);
  if (name === undefined) return false;
  const descriptor = openLog(join(folder, name));
  try {
    return hasLine(descriptor, `{"seq":${seq + 1},"prev":"${hash}",`);
  } finally {
    closeQuietly(descriptor);
  }
}

function unavailable(folder: string, cause: unknown): SandboxError {
  if (isSandboxError(cause)) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SandboxError('AUDIT_UNAVAILABLE', `The audit log in ${folder} cannot be written: ${reason}.`, {
    hint: 'Nothing runs without a record. See what is wrong: glovebox audit verify. A folder that was moved away, as evidence, is followed by a new log; SANDBOX_AUDIT_DIR names another.',
    details: { folder },
    cause,
  });
}
