/**
 * A page of its own for a result in a form that browsers would act on. It is sent with a policy that lets nothing in it
 * run or be loaded, and shown in a frame with `sandbox`. Pure.
 */
import type { RichResult } from '../result/contextExecution.ts';
import { shown, shownLine } from './shownText.ts';

export type Frame =
  | {
      readonly ok: true;
      readonly form: 'SVG' | 'HTML' | 'table';
      /** A table of few rows. */
      readonly isShort: boolean;
      readonly page: string;
    }
  /** Why it is not shown, as a sentence. */
  | { readonly ok: false; readonly because: string };

const MAX_CHARACTERS = 2 * 1024 * 1024;
const SHORT_ROWS = 5;
const MAX_ROWS = 500;
const MAX_COLUMNS = 50;

/** Undefined for a result that has no form to be framed. */
export function frameOf({ svg, html, json }: RichResult): Frame | undefined {
  const markup = svg ?? html;
  if (markup !== undefined && markup.length > MAX_CHARACTERS) {
    const size = `${Math.ceil(markup.length / 1024 ** 2)} MB`;
    return {
      ok: false,
      because: `The ${svg === undefined ? 'HTML' : 'SVG'} has ${size}: 2 are the most that are shown.`,
    };
  }
  if (svg !== undefined) return svgFrame(svg);
  if (html !== undefined)
    return { ok: true, form: 'HTML', isShort: isShort(html), page: page(PAPER, unlinked(html)) };
  const rows = rowsOf(json);
  return rows === undefined
    ? undefined
    : { ok: true, form: 'table', isShort: rows.length <= SHORT_ROWS, page: page(OURS, tableOf(rows)) };
}

/** As a picture: then a browser neither follows what it names, nor runs what it holds. */
function svgFrame(svg: string): Frame {
  // Entities can make gigabytes of a few lines.
  if (/<!ENTITY/i.test(svg))
    return { ok: false, because: 'The SVG declares entities, which are not resolved.' };
  const url = `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
  return {
    ok: true,
    form: 'SVG',
    isShort: false,
    page: page(PAPER, `<img class="whole" alt="SVG" src="${url}">`),
  };
}

/**
 * Renames what reaches servers though its policy lets it load nothing: browsers open connections ahead for links, frames
 * and elements of the head. A tag's name stands right behind its bracket, so nothing else can begin one of them.
 */
function unlinked(html: string): string {
  return html.replace(REACHING, '$&x-');
}

const REACHING =
  /<\/?(?=(?:a|area|base|embed|fencedframe|frame|frameset|iframe|link|meta|object|portal)(?![a-z0-9-]))/gi;

function isShort(html: string): boolean {
  const rows = html.match(/<tr\b/gi)?.length ?? 0;
  return rows > 0 && rows <= SHORT_ROWS + 1;
}

/** Objects of plain values, at least one; undefined for anything else. */
function rowsOf(json: unknown): readonly Readonly<Record<string, unknown>>[] | undefined {
  const isTable = Array.isArray(json) && json.length > 0 && json.every(isRow);
  return isTable ? json : undefined;
}

function isRow(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((cell) => typeof cell !== 'object' || cell === null)
  );
}

function tableOf(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const names = [...new Set(rows.slice(0, MAX_ROWS).flatMap((row) => Object.keys(row)))];
  const columns = names.slice(0, MAX_COLUMNS);
  const head = columns.map((name) => `<th scope="col">${escapeHtml(shownLine(name))}</th>`);
  const body = rows.slice(0, MAX_ROWS).map((row) => {
    const cells = columns.map((name) => `<td>${escapeHtml(shown(String(row[name] ?? '')))}</td>`);
    return `<tr>${cells.join('')}</tr>`;
  });
  const left = [
    ...(rows.length > MAX_ROWS ? [`${rows.length - MAX_ROWS} more rows`] : []),
    ...(names.length > MAX_COLUMNS ? [`${names.length - MAX_COLUMNS} more columns`] : []),
  ];
  const note = left.length === 0 ? '' : `<p>Not shown: ${left.join(', ')}.</p>`;
  return `<table><thead><tr>${head.join('')}</tr></thead><tbody>${body.join('')}</tbody></table>${note}`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** What others have drawn is meant for white paper. */
const PAPER = 'html{background:#fff;color:#111;color-scheme:light}';
const OURS =
  'html{background:#fff;color:#1c1f23}@media (prefers-color-scheme:dark){html{background:#16191d;color:#e6e8ea}}';
const LAYOUT =
  'body{margin:8px;font:14px/1.45 system-ui,sans-serif}table{border-collapse:collapse}th,td{padding:3px 10px;border-bottom:1px solid #8886;text-align:left;vertical-align:top}.whole{display:block;max-width:100%;max-height:480px}';

function page(style: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Result</title><style>${style}${LAYOUT}</style></head><body>${body}</body></html>`;
}
