/** Which records a page of the audit shows. */
import type { LoggedRecord, RecordFilter } from '../operations/auditTrail.ts';

/** What was asked for in the address, each as it was given; empty where it was not. */
export interface AuditQuery {
  readonly type: string;
  readonly operation: string;
  readonly id: string;
  readonly sandbox: string;
  readonly since: string;
  readonly until: string;
  /** Only records before this number. */
  readonly before: string;
}

export interface RecordPage {
  /** The newest first. */
  readonly records: readonly LoggedRecord['record'][];
  /** Where the next page begins; undefined for the last one. */
  readonly before: number | undefined;
}

const PAGE = 50;

/** The newest records that pass, a page of them. */
export async function recordPage(
  records: AsyncIterable<LoggedRecord>,
  query: AuditQuery,
): Promise<RecordPage> {
  const before = /^\d{1,15}$/.test(query.before) ? Number(query.before) : Number.POSITIVE_INFINITY;
  let last: LoggedRecord['record'][] = [];
  for await (const { record } of records) {
    if (record.seq >= before) break;
    last.push(record);
    if (last.length > 10 * PAGE) last = last.slice(-PAGE - 1);
  }
  const hasMore = last.length > PAGE;
  const shown = last.slice(-PAGE).reverse();
  return { records: shown, before: hasMore ? shown.at(-1)?.seq : undefined };
}

/** What of the query is a filter; a time that is none filters nothing. */
export function filterOf({ type, operation, id, sandbox, since, until }: AuditQuery): RecordFilter {
  const from = timeOf(since);
  const to = timeOf(until);
  return {
    ...(type === '' ? {} : { types: [type] }),
    ...(operation === '' ? {} : { operations: [operation] }),
    ...(id === '' ? {} : { id }),
    ...(sandbox === '' ? {} : { sandboxId: sandbox }),
    ...(from === undefined ? {} : { since: from }),
    ...(to === undefined ? {} : { until: to }),
  };
}

/** As browsers give times, which are meant as UTC here. */
function timeOf(text: string): Date | undefined {
  const at = Date.parse(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : text);
  return Number.isNaN(at) ? undefined : new Date(at);
}
