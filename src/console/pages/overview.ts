import { html } from 'hono/html';
import type { ConsoleExecution, ConsoleSandbox, WaitingQuestion } from '../backend.ts';
import type { Html } from './layout.ts';
import { executionTable, questionList, sandboxTable } from './parts.ts';

export interface Overview {
  readonly questions: readonly WaitingQuestion[];
  readonly sandboxes: readonly ConsoleSandbox[];
  readonly executions: readonly ConsoleExecution[];
}

const RECENT = 20;

/** What waits first, then what lives and runs. */
export function overviewContent({ questions, sandboxes, executions }: Overview): Html {
  const running = executions.filter(isGoing);
  const ended = executions.filter((execution) => !isGoing(execution)).slice(0, RECENT);
  return html`<h1>Overview</h1>
<section id="questions" data-live aria-labelledby="questions-title"><h2 id="questions-title">Waiting for an answer</h2>${questionList(questions)}</section>
<section id="running" data-live aria-labelledby="running-title"><h2 id="running-title">Running</h2>${executionTable('Running executions', running)}</section>
<section id="sandboxes" data-live aria-labelledby="sandboxes-title"><h2 id="sandboxes-title">Live sandboxes</h2>${sandboxTable(sandboxes)}</section>
<section id="ended" data-live aria-labelledby="ended-title"><h2 id="ended-title">Ended lately</h2>${executionTable('Executions that ended lately', ended)}</section>`;
}

/** What is asked for one sandbox, and what goes on in it. */
export function sandboxContent(sandbox: ConsoleSandbox, all: Overview): Html {
  const isOwn = ({ sandboxId }: ConsoleExecution) => sandboxId === sandbox.id;
  const questions = all.questions.filter(({ question }) => question.sandboxId === sandbox.id);
  return html`<h1>Sandbox</h1>
<section id="sandbox" data-live aria-label="The sandbox">${sandboxTable([sandbox])}</section>
<section id="questions" data-live aria-labelledby="questions-title"><h2 id="questions-title">Waiting for an answer</h2>${questionList(questions)}</section>
<section id="executions" data-live aria-labelledby="executions-title"><h2 id="executions-title">Executions</h2>${executionTable('Executions of the sandbox', all.executions.filter(isOwn))}</section>`;
}

function isGoing({ state }: ConsoleExecution): boolean {
  return state === 'waiting' || state === 'running';
}
