import { html } from 'hono/html';
import { ASSETS } from '../assets/assets.ts';
import type { ConsoleScope } from '../backend.ts';
import { shownLine } from '../shownText.ts';

/** Markup in which every value was escaped. */
export type Html = ReturnType<typeof html>;

/** Who looks at a page. */
export interface Visitor {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Stands in every form. */
  readonly csrf: string;
}

export interface Page {
  readonly title: string;
  readonly visitor: Visitor;
  /** Ids of the questions that wait; they are told on every page. */
  readonly waiting: readonly string[];
  /** The path of the entry of the menu that this page belongs to. */
  readonly section?: string;
  /** The execution whose output comes to this page, and from where on. */
  readonly output?: { readonly execution: string; readonly after: number };
  /** From where to fetch what waits, for a page of which nothing else changes and that is costly to make. */
  readonly refreshFrom?: string;
  readonly content: Html;
}

const MENU: readonly { readonly path: string; readonly name: string; readonly scope: ConsoleScope }[] = [
  { path: '/', name: 'Overview', scope: 'approve' },
  { path: '/approvals', name: 'Approvals', scope: 'approve' },
  { path: '/grants', name: 'Grants', scope: 'approve' },
  { path: '/audit', name: 'Audit', scope: 'audit' },
];

/** A page for somebody who is signed in. */
export function page({ title, visitor, waiting, section, output, refreshFrom, content }: Page): Html {
  const entries = MENU.filter(({ scope }) => visitor.scopes.includes(scope)).map(({ path, name }) => {
    const current = path === section ? html` aria-current="page"` : '';
    const count = path === '/approvals' ? countOf(waiting) : '';
    return html`<li><a href="${path}"${current}>${name}</a>${count}</li>`;
  });
  const header = html`<nav aria-label="Main"><ul>${entries}</ul></nav>
<form class="who" method="post" action="/sign-out">${csrfField(visitor)}<span>Signed in with the key <b>${shownLine(visitor.name, 40)}</b></span>
<button class="quiet">Sign out</button></form>`;
  const from =
    output === undefined ? '' : html` data-execution="${output.execution}" data-after="${output.after}"`;
  const other = refreshFrom === undefined ? '' : html` data-refresh="${refreshFrom}"`;
  // Who may only read the record is told of nothing.
  const body = visitor.scopes.includes('approve') ? html` data-events="/events"${from}${other}` : '';
  return shell({ title, header, content, body });
}

/** A page for anybody. */
export function plainPage(title: string, content: Html): Html {
  return shell({ title, header: '', content, body: '' });
}

export function csrfField({ csrf }: Visitor): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

/** A button that does one thing, as a form of its own. */
export function actionButton(visitor: Visitor, path: string, text: string, about: string): Html {
  return html`<form method="post" action="${path}">${csrfField(visitor)}<button>${text}<span class="unseen"> ${about}</span></button></form>`;
}

function countOf(waiting: readonly string[]): Html {
  const badge =
    waiting.length === 0
      ? ''
      : html`<b class="badge">${waiting.length}<span class="unseen"> waiting</span></b>`;
  return html`<span id="waiting-count" data-live data-questions="${waiting.join(' ')}">${badge}</span>`;
}

interface Shell {
  readonly title: string;
  readonly header: Html | '';
  readonly body: Html | '';
  readonly content: Html;
}

function shell({ title, header, body, content }: Shell): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Glovebox</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${ASSETS.style.path}">
<script src="${ASSETS.script.path}" defer></script>
</head>
<body${body}>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><a class="brand" href="/">Glovebox</a>${header}</header>
<main id="main" tabindex="-1">
${content}
</main>
<p id="announcement" class="unseen" role="status"></p>
<p id="connection" class="notice" role="status" hidden>The connection is lost. What is shown may be old.</p>
<p id="gone" class="notice" role="status" hidden>This is not there any more. What is shown is old. <a href="/">To the start</a></p>
</body>
</html>`;
}
