/** How a sandbox ended: pure, from what its first process reported and what runsc said. */

import { codeOf } from '../host/waitStatus.ts';

/** What the report of the first process says. */
export type Report =
  /** The program ran and ended with this code, 128 and its number for a signal. */
  | { readonly code: number }
  /** The program could not be started; the system's number of the error. */
  | { readonly notStarted: number }
  /** The sandbox ended before its program did. */
  | undefined;

/** What is known when all of a sandbox's processes are gone. */
export interface End {
  readonly report: Report;
  /** What runsc complained about. */
  readonly complaint: string | undefined;
}

/** Reads a report: a status as `wait4` gives it, after a negated error when there was no program. */
export function readReport(bytes: Buffer): Report {
  if (bytes.length < 4) return undefined;
  const first = bytes.readInt32LE(0);
  if (first < 0) return { notStarted: -first };
  return { code: codeOf(first) };
}

/** What is kept of a complaint: a trace of Go's can have thousands of lines. */
const LONGEST_COMPLAINT = 1000;

/** Why runsc failed, from its log (JSON documents one after another) and from Go's last words. */
export function readComplaint(log: string, panic: string): string | undefined {
  const messages = [...log.matchAll(/"msg":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) =>
    String(JSON.parse(text)).trim(),
  );
  const said = [...new Set(messages)].join('; ') || log.trim() || panic.trim();
  return said === '' ? undefined : said.slice(0, LONGEST_COMPLAINT);
}
