/** A question as HTML, for a page that brings its own styles. Pure. */
import type { Question } from '../question.ts';
import { factsOf, type ShownCode, shownCode, sightLines } from './facts.ts';
import { valueRows } from './values.ts';
import { type Piece, piecesOf } from './visible.ts';
import { wrap } from './wrap.ts';

/** Longer lines are broken, so that nothing is moved out of sight to the right. */
const COLUMNS = 160;

/**
 * The same as `showQuestion` says, whole, as one `<article>` of plain elements and ASCII: no script, style, link or
 * form, nothing that was given by others but as text. Line numbers belong to the list and not to the text.
 */
export function questionHtml(question: Question): string {
  const { policy, parameters, notInspected, hash } = question;
  const parts = [
    element('h2', 'title', 'Glovebox asks: may this be done?'),
    factsHtml(question),
    section('policy', 'Policy', valuesHtml(policy)),
    section('parameters', 'Parameters', valuesHtml(parameters)),
    findingsHtml(question),
    notInspected === undefined
      ? ''
      : section('not-inspected', 'Not looked into', `<p>${textHtml(notInspected)}</p>`),
    codeHtml(shownCode(question)),
    `<p class="hash">Hash <code>${textHtml(hash)}</code></p>`,
  ];
  return `<article class="question" dir="ltr" translate="no">${parts.join('\n')}</article>`;
}

function factsHtml(question: Question): string {
  const facts = factsOf(question).map(
    ({ label, text }) => `<dt>${textHtml(label)}</dt><dd>${textHtml(text)}</dd>`,
  );
  return `<dl class="facts risk-${question.risk.level.toLowerCase().replace(/[^a-z]/g, '')}">${facts.join('')}</dl>`;
}

function valuesHtml(values: Readonly<Record<string, unknown>>): string {
  const rows = valueRows(values).map(({ depth, text, isQuoted }) => {
    const indent = `${'  '.repeat(Math.min(depth, 10))}${depth > 10 ? `(level ${depth + 1}) ` : ''}`;
    return `<li><pre${isQuoted ? ' class="quoted"' : ''}>${indent}${lineHtml(piecesOf(text))}</pre></li>`;
  });
  return rows.length === 0 ? '<p>none</p>' : `<ul class="values">${rows.join('\n')}</ul>`;
}

function findingsHtml(question: Question): string {
  const { sights } = question;
  if (sights.length === 0) return '';
  const entries = sightLines(question).map(
    (line, i) => `<li${sights[i]?.isDangerous ? ' class="dangerous"' : ''}>${textHtml(line)}</li>`,
  );
  return section('findings', 'It seems to do', `<ul>${entries.join('\n')}</ul>`);
}

function codeHtml(code: ShownCode | undefined): string {
  if (code === undefined) return '';
  const measure = `${code.size}, SHA-256 ${code.sha256}`;
  const lines = code.lines.map((pieces, i) => `<li value="${i + 1}"><pre>${lineHtml(pieces)}</pre></li>`);
  const parts = [
    `<p class="measure">${textHtml(measure)}</p>`,
    ...code.remarks.map((remark) => `<p class="remark">${textHtml(remark)}</p>`),
    lines.length === 0 ? '<p>(empty)</p>' : `<ol class="lines">${lines.join('\n')}</ol>`,
    code.endsWithoutLineFeed ? '<p class="remark">The last line has no line feed.</p>' : '',
    `<p class="measure">End of the code: ${textHtml(measure)}</p>`,
  ];
  return section('code', 'Code', parts.join('\n'));
}

/** Breaks of ours are elements, which are no part of the text. */
function lineHtml(pieces: readonly Piece[]): string {
  return wrap(pieces, COLUMNS).map(piecesHtml).join('<br class="continued">');
}

function piecesHtml(pieces: readonly Piece[]): string {
  return pieces
    .map(({ kind, text }) =>
      kind === 'escape' || kind === 'mark'
        ? `<span class="${kind}">${escapeHtml(text)}</span>`
        : escapeHtml(text),
    )
    .join('');
}

function textHtml(text: string): string {
  return piecesHtml(piecesOf(text));
}

function section(name: string, title: string, content: string): string {
  return `<section class="${name}">${element('h3', 'title', title)}${content}</section>`;
}

function element(tag: string, name: string, text: string): string {
  return `<${tag} class="${name}">${textHtml(text)}</${tag}>`;
}

/** As references, so that it means the same in a page of any character set. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]|[^\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0)};`);
}
