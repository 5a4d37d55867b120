import { html } from 'hono/html';
import type { Verdict } from '../../operations/auditTrail.ts';
import type { AuditQuery, RecordPage } from '../auditView.ts';
import { shown, shownLine } from '../shownText.ts';
import type { Html } from './layout.ts';
import { table, time } from './parts.ts';

/** What checking the log came to, and when. */
export interface Verified {
  readonly verdict: Verdict;
  readonly at: string;
}

export function auditContent(query: AuditQuery, { records, before }: RecordPage, verified: Verified): Html {
  const rows = records.map((record) => {
    const { seq, hash, prev: _prev, at, type, ...told } = record;
    const { id, operation, sandbox_id: sandbox } = told as Record<string, unknown>;
    return html`<tr><th scope="row" data-label="Number">${seq}</th><td data-label="Time">${time(at)}</td><td data-label="Type">${shownLine(type, 40)}</td>
<td data-label="Operation">${textOr(operation)}</td><td data-label="Of">${ofWhat(id, sandbox)}</td>
<td data-label="Record"><details><summary>What it says</summary><pre class="text">${recordText(told)}</pre><p class="faint">Hash <code>${hash}</code></p></details></td></tr>`;
  });
  const columns = ['Number', 'Time', 'Type', 'Operation', 'Of', 'Record'];
  const list =
    rows.length === 0 ? html`<p class="empty">No record is like this.</p>` : table('Records', columns, rows);
  const older =
    before === undefined
      ? ''
      : html`<p><a href="${addressOf({ ...query, before: String(before) })}">Older records</a></p>`;
  return html`<h1>Audit</h1>${verdictNotice(verified)}${filterForm(query)}${receiptLink(query)}${list}${older}`;
}

const MAX_RECORD = 20_000;

function recordText(told: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(told, null, 2);
  const more = text.length - MAX_RECORD;
  return `${shown(text.slice(0, MAX_RECORD))}${more > 0 ? `\n… and ${more} characters more: glovebox audit show` : ''}`;
}

function verdictNotice({ verdict: { records, flaws, last }, at }: Verified): Html {
  const [first] = flaws;
  const checked = html`<span class="faint">Checked at ${time(at)}</span>`;
  if (first === undefined && last === undefined)
    return html`<p class="verdict" role="status">Nothing is recorded yet. ${checked}</p>`;
  if (first === undefined)
    return html`<p class="verdict good" role="status"><b>Whole.</b> ${records} records follow one another${last === undefined ? '' : html`, the last one is ${last.seq} <code class="hash">${last.hash.slice(0, 16)}…</code>`}. ${checked}</p>`;
  const list = flaws
    .slice(0, 20)
    .map(({ kind, seq, message }) => html`<li>${kind}, record ${seq}: ${shownLine(message, 300)}</li>`);
  return html`<div class="verdict bad" role="alert"><p><b>Not whole.</b> ${flaws.length} ${flaws.length === 1 ? 'flaw was' : 'flaws were'} found. ${checked}</p><ul>${list}</ul></div>`;
}

const FIELDS = [
  ['type', 'Type', 'text'],
  ['operation', 'Operation', 'text'],
  ['id', 'Request or execution', 'text'],
  ['sandbox', 'Sandbox', 'text'],
  ['since', 'Since (UTC)', 'datetime-local'],
  ['until', 'Until (UTC)', 'datetime-local'],
] as const;

function filterForm(query: AuditQuery): Html {
  const fields = FIELDS.map(
    ([name, label, type]) =>
      html`<p><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="${type}" value="${shownLine(query[name], 200)}" autocomplete="off"></p>`,
  );
  return html`<form method="get" action="/audit" class="card fields" role="search" aria-label="Records">${fields}<p class="buttons"><button>Show</button> <a href="/audit">All</a></p></form>`;
}

function receiptLink({ id }: AuditQuery): Html | '' {
  if (id === '') return '';
  return html`<p><a href="/audit/receipts/${encodeURIComponent(id)}" download>Receipt of ${shownLine(id, 60)}</a> <span class="faint">(its records and where the log ends, as JSON)</span></p>`;
}

function ofWhat(id: unknown, sandbox: unknown): Html {
  const parts = [
    ...(typeof id === 'string' ? [html`<a href="${addressOf({ id })}">${shownLine(id, 60)}</a>`] : []),
    ...(typeof sandbox === 'string'
      ? [html`<span>sandbox <a href="${addressOf({ sandbox })}">${shownLine(sandbox, 60)}</a></span>`]
      : []),
  ];
  return html`${parts.map((part) => html`<span class="part">${part}</span> `)}`;
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? shownLine(value, 60) : '';
}

function addressOf(query: Partial<AuditQuery>): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return `/audit?${new URLSearchParams(given as [string, string][])}`;
}
