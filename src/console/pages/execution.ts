import { html } from 'hono/html';
import type { RichResult } from '../../result/contextExecution.ts';
import type { ConsoleExecution, ShownExecution } from '../backend.ts';
import { frameOf } from '../frame.ts';
import type { ShownOutput } from '../outputTail.ts';
import { pictureOf } from '../picture.ts';
import { shown, shownLine } from '../shownText.ts';
import type { Html } from './layout.ts';
import { facts, stateOf, time } from './parts.ts';

/** An execution with its output so far. */
export function executionContent(execution: ShownExecution, output: ShownOutput): Html {
  return html`<h1>Execution</h1>
<section id="state" data-live aria-label="State">${stateFacts(execution)}</section>
<section id="results" data-live aria-labelledby="results-title">${results(execution)}</section>
<section aria-labelledby="output-title"><h2 id="output-title">Output</h2>
<p class="faint">As text: nothing in it acts. What cannot be seen stands as its number, like <code>⟦U+001B⟧</code>.</p>
${leftOut(output)}
<div id="output" class="output" tabindex="0" role="region" aria-label="Output">${output.runs.map(run)}</div>
</section>`;
}

function stateFacts(execution: ConsoleExecution): Html {
  const { id, keyName, sandboxId, language, startedAt, endedAt, result, error } = execution;
  const sandbox =
    sandboxId === null
      ? 'one of its own, gone afterwards'
      : html`<a href="/sandboxes/${encodeURIComponent(sandboxId)}">${shownLine(sandboxId)}</a>`;
  return facts([
    ['Execution', shownLine(id, 100)],
    ['State', stateOf(execution)],
    ...(error === undefined ? [] : [['Error', shownLine(`${error.message} ${error.hint}`, 1000)] as const]),
    ['Key', shownLine(keyName, 60)],
    ['Sandbox', sandbox],
    ['Language', shownLine(language ?? 'a command', 40)],
    ['Started', startedAt === null ? 'not yet' : time(startedAt)],
    ...(endedAt === null ? [] : [['Ended', time(endedAt)] as const]),
    ...(result === undefined ? [] : resultFacts(result)),
  ]);
}

function resultFacts({ duration, meta }: NonNullable<ConsoleExecution['result']>) {
  const { enforced, warnings = [] } = meta;
  return [
    ['Took', `${duration.toFixed(3)} s`],
    ['Output', `${meta.stdoutBytes} bytes on stdout, ${meta.stderrBytes} on stderr`],
    [
      'Held to',
      enforced === null ? 'nothing was started' : `${enforced.isolation}, network ${enforced.network}`,
    ],
    ...warnings.map((warning) => ['Note', shownLine(warning, 500)] as const),
  ] as const;
}

function leftOut({ leftOutCharacters, droppedBytes }: ShownOutput): Html {
  const told = [
    ...(droppedBytes === 0 ? [] : [`${droppedBytes} bytes are not kept any more.`]),
    ...(leftOutCharacters === 0 ? [] : [`${leftOutCharacters} characters before this are not shown.`]),
  ];
  return html`<p id="output-note" class="notice"${told.length === 0 ? html` hidden` : ''}>${told.join(' ')}</p>`;
}

/** A piece of one stream. */
function run({ stream, text }: ShownOutput['runs'][number]): Html {
  return html`<div class="run ${stream}"><span class="stream">${stream}</span><pre>${text}</pre></div>`;
}

/** Each may be a frame of its own, and a loop makes thousands. */
const MAX_RESULTS = 100;

function results({ id, richResults, result }: ShownExecution): Html | '' {
  if (richResults.length === 0) return '';
  const leftOutCount = result !== undefined && 'resultsLeftOut' in result ? Number(result.resultsLeftOut) : 0;
  const note =
    leftOutCount === 0 ? '' : html`<p class="notice">${leftOutCount} more results were left out.</p>`;
  const earlier = Math.max(0, richResults.length - MAX_RESULTS);
  const before =
    earlier === 0 ? '' : html`<p class="notice">${earlier} results before these are not shown.</p>`;
  const shownResults = richResults
    .slice(earlier)
    .map((rich, i) => resultFigure(rich, `/executions/${encodeURIComponent(id)}/results/${earlier + i}`));
  return html`<h2 id="results-title">Results</h2>${before}${shownResults}${note}`;
}

/** The picture of it where there is one, else in a frame where it needs one; its text in any case. */
function resultFigure(rich: RichResult, path: string): Html {
  const text = rich.text ?? rich.markdown ?? rich.latex;
  const best = picture(rich) ?? framed(rich, path);
  const notes = (rich.notes ?? []).map((note) => html`<p class="faint">${shownLine(note, 500)}</p>`);
  if (best === undefined)
    return html`<figure>${textBlock(text ?? '(nothing that can be shown)')}${notes}</figure>`;
  const more =
    text === undefined ? '' : html`<details><summary>As text</summary>${textBlock(text)}</details>`;
  return html`<figure>${best}${more}${notes}</figure>`;
}

function picture({ png, jpeg, text }: RichResult): Html | undefined {
  const [form, base64] = png === undefined ? (['jpeg', jpeg] as const) : (['png', png] as const);
  if (base64 === undefined) return undefined;
  const found = pictureOf(form, base64);
  if (!found.ok) return html`<p class="notice">A picture is not shown. ${found.because}</p>`;
  const { url, width, height } = found;
  return html`<img class="chart" src="${url}" width="${width}" height="${height}" alt="${shownLine(text ?? 'A picture', 120)}">`;
}

function framed(rich: RichResult, path: string): Html | undefined {
  const frame = frameOf(rich);
  if (frame === undefined) return undefined;
  if (!frame.ok) return html`<p class="notice">A result is not shown. ${frame.because}</p>`;
  return html`<iframe class="result${frame.isShort ? ' short' : ''}" sandbox="" src="${path}" title="Result, as ${frame.form}" loading="lazy" referrerpolicy="no-referrer"></iframe>`;
}

const MAX_TEXT = 20_000;

function textBlock(text: string): Html {
  const more =
    text.length > MAX_TEXT
      ? html`<p class="faint">${text.length - MAX_TEXT} characters more are not shown.</p>`
      : '';
  return html`<pre class="text" tabindex="0" role="region" aria-label="Result, as text">${shown(text.slice(0, MAX_TEXT))}</pre>${more}`;
}
