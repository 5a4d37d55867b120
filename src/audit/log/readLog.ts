/** Reads records back, and goes on with those to come. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { logFiles } from './files.ts';
import { openLine, type ReadRecord } from './line.ts';
import { readLines } from './readLines.ts';

/** Which records; all that is named must hold. */
export interface RecordFilter {
  readonly types?: readonly string[];
  readonly operations?: readonly string[];
  /** Of a request or an execution. */
  readonly id?: string;
  readonly sandboxId?: string;
  readonly since?: Date;
  readonly until?: Date;
}

/** A record with the line that it was read from. */
export interface LoggedRecord {
  readonly record: ReadRecord;
  readonly line: string;
}

export interface ReadOptions {
  readonly filter?: RecordFilter;
  /** Waits for more until the signal comes. */
  readonly follow?: AbortSignal;
  /** Told of lines that are no records: somebody has changed them. */
  readonly onUnreadable?: (place: { readonly file: string; readonly line: number }) => void;
}

const POLL_MS = 200;

/** Records in their order. Throws what the file system throws; a folder without a log has none. */
export async function* readLog(
  folder: string,
  { filter = {}, follow, onUnreadable = () => {} }: ReadOptions = {},
): AsyncGenerator<LoggedRecord> {
  const matches = matcher(filter);
  for await (const { file, line, bytes } of linesOf(folder, follow)) {
    const record = openLine(bytes);
    if (record === undefined) onUnreadable({ file, line });
    else if (matches(record)) yield { record, line: bytes.toString('utf8') };
  }
}

/** Whether a record is wanted. Pure. */
export function matcher({ types, operations, id, sandboxId, since, until }: RecordFilter) {
  return (record: ReadRecord): boolean => {
    const at = Date.parse(record.at);
    return (
      (types === undefined || types.includes(record.type)) &&
      (operations === undefined || operations.some((operation) => operation === record['operation'])) &&
      (id === undefined || record['id'] === id) &&
      (sandboxId === undefined || record['sandbox_id'] === sandboxId) &&
      (since === undefined || at >= since.getTime()) &&
      (until === undefined || at <= until.getTime())
    );
  };
}

interface Numbered {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly bytes: Buffer;
}

/** Whole lines; one whose end is missing is still being written, or never will be. */
async function* linesOf(folder: string, follow: AbortSignal | undefined): AsyncGenerator<Numbered> {
  let files = logFiles(folder);
  for (let i = 0; ; ) {
    const file = files[i];
    let [offset, line] = [0, 0];
    while (file !== undefined) {
      for await (const { bytes, isWhole } of readLines(join(folder, file), offset)) {
        if (!isWhole) break;
        offset += bytes.length + 1;
        line++;
        yield { file, line, bytes };
      }
      files = logFiles(folder);
      // What was written to this file while another one began is still to be read.
      const isEmptied = sizeOf(join(folder, file)) <= offset;
      if (files.length > i + 1 ? isEmptied : follow === undefined) break;
      if (!(await pause(follow))) return;
    }
    if (file !== undefined) i++;
    if (i < files.length) continue;
    if (!(await pause(follow))) return;
    files = logFiles(folder);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Resolves to whether to go on. */
async function pause(signal: AbortSignal | undefined): Promise<boolean> {
  if (signal === undefined || signal.aborted) return false;
  return delay(POLL_MS, true, { signal }).catch(() => false);
}
