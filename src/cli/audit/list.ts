/** Records as a person or a script reads them. */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SandboxError } from '../../errors.ts';
import { AuditTrail, type LoggedRecord, type RecordFilter } from '../../operations/auditTrail.ts';
import { cancellable } from '../cancel.ts';
import { forTerminal } from '../terminal.ts';
import { warn } from '../warn.ts';
import { summaryOf, text } from './summary.ts';
import { timeFrom } from './time.ts';

interface TimeFlags {
  readonly since?: string;
  readonly until?: string;
  readonly config?: string;
}

export interface ListFlags extends TimeFlags {
  readonly type?: readonly string[];
  readonly operation?: readonly string[];
  readonly id?: string;
  readonly sandbox?: string;
  readonly last?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const LAST = 100;

/** Prints records; resolves to the exit status. */
export async function list(flags: ListFlags): Promise<number> {
  const { type, operation, id, sandbox, json } = flags;
  const filter: RecordFilter = {
    ...timesOf(flags),
    ...(type === undefined ? {} : { types: type }),
    ...(operation === undefined ? {} : { operations: operation }),
    ...(id === undefined ? {} : { id }),
    ...(sandbox === undefined ? {} : { sandboxId: sandbox }),
  };
  const count = countFrom(flags.last);
  const print = json ? asJson : asLine;
  const trail = await openTrail(flags);
  const last: LoggedRecord[] = [];
  let seen = 0;
  for await (const logged of trail.records({ filter, onUnreadable })) {
    seen = logged.record.seq;
    last.push(logged);
    if (count > 0 && last.length > 2 * count) last.splice(0, last.length - count);
  }
  for (const logged of count > 0 ? last.slice(-count) : last) process.stdout.write(print(logged));
  if (!flags.follow) return 0;
  return cancellable(async (signal) => {
    for await (const logged of trail.records({ filter, follow: signal })) {
      if (logged.record.seq > seen) process.stdout.write(print(logged));
    }
    return 0;
  });
}

/** Prints all that is recorded of one thing; resolves to the exit status. */
export async function show(
  id: string,
  flags: { readonly json?: boolean; readonly config?: string },
): Promise<number> {
  const trail = await openTrail(flags);
  const found: LoggedRecord[] = [];
  for await (const logged of trail.records({ onUnreadable })) {
    const { record } = logged;
    if (String(record.seq) === id || record['id'] === id || record['sandbox_id'] === id) found.push(logged);
  }
  if (found.length === 0) {
    throw new SandboxError('INPUT_INVALID', `There is no record of ${JSON.stringify(id.slice(0, 100))}.`, {
      hint: 'Run: glovebox audit list',
    });
  }
  for (const logged of found) process.stdout.write(flags.json ? asJson(logged) : asBlock(logged));
  return 0;
}

/** Writes records as they stand in the log; resolves to the exit status. */
export async function exportRecords(flags: TimeFlags & { readonly out?: string }): Promise<number> {
  const trail = await openTrail(flags);
  const records = trail.records({ filter: timesOf(flags), onUnreadable });
  const lines = async function* (): AsyncGenerator<string> {
    for await (const logged of records) yield asJson(logged);
  };
  const source = Readable.from(lines());
  if (flags.out === undefined) await pipeline(source, process.stdout, { end: false });
  else await pipeline(source, createWriteStream(flags.out, { flags: 'wx', mode: 0o600 }));
  return 0;
}

function openTrail({ config }: { readonly config?: string }): Promise<AuditTrail> {
  return AuditTrail.open(config === undefined ? {} : { configFile: config, overrideKind: 'flag' });
}

function onUnreadable({ file, line }: { readonly file: string; readonly line: number }): void {
  warn(`${file}:${line} is no record: somebody has changed it. See: glovebox audit verify`);
}

function asJson({ line }: LoggedRecord): string {
  return `${line}\n`;
}

function asLine({ record }: LoggedRecord): string {
  const { seq, at, type } = record;
  const about = text(record['id'] ?? record['sandbox_id'] ?? '').slice(0, 8);
  return `${String(seq).padStart(6)}  ${forTerminal(at)}  ${forTerminal(type).padEnd(15)}  ${forTerminal(about).padEnd(8)}  ${forTerminal(summaryOf(record))}\n`;
}

function asBlock({ record }: LoggedRecord): string {
  const { seq, at, type, prev: _prev, hash, ...told } = record;
  const lines = JSON.stringify(told, null, 2).split('\n').slice(1, -1);
  return `${seq}  ${forTerminal(at)}  ${forTerminal(type)}  ${hash}\n${lines.map((line) => `  ${forTerminal(line)}\n`).join('')}\n`;
}

function timesOf({ since, until }: TimeFlags): Pick<RecordFilter, 'since' | 'until'> {
  return {
    ...(since === undefined ? {} : { since: timeFrom('--since', since) }),
    ...(until === undefined ? {} : { until: timeFrom('--until', until) }),
  };
}

function countFrom(given: string | undefined): number {
  if (given === undefined) return LAST;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new SandboxError('INPUT_INVALID', `--last is ${JSON.stringify(given)}; it must be a whole number.`, {
    hint: 'For example: glovebox audit list --last 20',
  });
}
