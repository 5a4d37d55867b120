/** What several pages show. */
import { html } from 'hono/html';
import type { ConsoleExecution, ConsoleSandbox, WaitingQuestion } from '../backend.ts';
import { shownLine } from '../shownText.ts';
import type { Html } from './layout.ts';

/** `2026-03-01 12:00:00 UTC`, and what was no time as it is. */
export function time(iso: string): Html {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return html`${shownLine(iso)}`;
  const exact = new Date(at).toISOString();
  return html`<time datetime="${exact}">${exact.slice(0, 10)} <span class="whole">${exact.slice(11, 19)} UTC</span></time>`;
}

/** A time to come, which the script counts down to. */
export function until(iso: string): Html {
  return html`until ${time(iso)} <span class="left" data-until="${iso}"></span>`;
}

export function riskBadge(level: string): Html {
  return html`<b class="risk risk-${level.toLowerCase()}">${level}</b>`;
}

export function askedBy({ askedBy: key }: WaitingQuestion): string {
  return key === null ? 'a process of this host' : `the key ${shownLine(key.name, 60)}`;
}

export function questionList(questions: readonly WaitingQuestion[]): Html {
  if (questions.length === 0) return html`<p class="empty">Nothing waits for an answer.</p>`;
  const entries = questions.map((waiting) => {
    const { id, risk, operation, runtime, code, expiresAt } = waiting.question;
    const language = typeof code?.language === 'string' ? `, ${shownLine(code.language, 20)}` : '';
    return html`<li class="card"><p>${riskBadge(risk.level)} <a class="main" href="/approvals/${id}">${operation}${language} in ${shownLine(runtime, 40)}</a></p>
<p>${shownLine(risk.description, 300)}</p>
<p class="faint">Asked for ${askedBy(waiting)}, ${until(expiresAt)}</p></li>`;
  });
  return html`<ul class="cards">${entries}</ul>`;
}

export function sandboxTable(sandboxes: readonly ConsoleSandbox[]): Html {
  if (sandboxes.length === 0) return html`<p class="empty">No sandbox lives.</p>`;
  const rows = sandboxes.map(
    ({ id, keyName, runtime, language, running, expiresAt }) => html`<tr>
<th scope="row" data-label="Sandbox"><a href="/sandboxes/${encodeURIComponent(id)}">${shownLine(id)}</a></th>
<td data-label="Key">${shownLine(keyName, 60)}</td><td data-label="Runtime">${shownLine(runtime, 40)}</td>
<td data-label="Language">${shownLine(language, 40)}</td><td data-label="State">${running ? 'busy' : 'idle'}</td>
<td data-label="Expires">${time(expiresAt)}</td></tr>`,
  );
  return table('Live sandboxes', ['Sandbox', 'Key', 'Runtime', 'Language', 'State', 'Expires'], rows);
}

export function executionTable(caption: string, executions: readonly ConsoleExecution[]): Html {
  if (executions.length === 0) return html`<p class="empty">None.</p>`;
  const rows = executions.map((execution) => {
    const { id, keyName, sandboxId, language, startedAt } = execution;
    const sandbox =
      sandboxId === null
        ? html`one of its own`
        : html`<a href="/sandboxes/${encodeURIComponent(sandboxId)}">${shownLine(sandboxId)}</a>`;
    return html`<tr>
<th scope="row" data-label="Execution"><a href="/executions/${encodeURIComponent(id)}">${shownLine(id, 60)}</a></th>
<td data-label="State">${stateOf(execution)}</td><td data-label="Key">${shownLine(keyName, 60)}</td>
<td data-label="Sandbox">${sandbox}</td><td data-label="Language">${shownLine(language ?? 'a command', 40)}</td>
<td data-label="Started">${time(startedAt)}</td></tr>`;
  });
  return table(caption, ['Execution', 'State', 'Key', 'Sandbox', 'Language', 'Started'], rows);
}

/** The state in words, with a mark beside them. */
export function stateOf({ state, result, error }: ConsoleExecution): Html {
  if (state === 'waiting') return html`<span class="state waiting">waiting</span>`;
  if (state === 'running') return html`<span class="state running">running</span>`;
  if (state === 'failed')
    return html`<span class="state bad">failed${error === undefined ? '' : `: ${error.code}`}</span>`;
  if (result === undefined) return html`<span class="state">ended</span>`;
  const words =
    result.outcome === 'exited' ? `exited with ${result.exitCode}` : result.outcome.replaceAll('_', ' ');
  return html`<span class="state ${result.ok ? 'good' : 'bad'}">${words}</span>`;
}

/** Rows that become cards where there is no room for columns. */
export function table(caption: string, columns: readonly string[], rows: readonly Html[]): Html {
  const head = columns.map((name) => html`<th scope="col">${name}</th>`);
  return html`<table class="rows"><caption class="unseen">${caption}</caption><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table>`;
}

export function facts(entries: readonly (readonly [label: string, value: Html | string])[]): Html {
  return html`<dl class="facts">${entries.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>`;
}
