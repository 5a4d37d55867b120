import type { AgentEvent } from '../../agent/event.ts';
import { shorten } from '../../agent/shorten.ts';
import { forTerminal, linesForTerminal } from '../terminal.ts';

/** What is written, and where. */
export interface Shown {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

const CODE_CHARACTERS = 2000;
const RESULT_CHARACTERS = 1000;
const TASK_CHARACTERS = 500;

/** One event for a person, or as a line of JSON. The answer goes to standard output, all else beside it. Pure. */
export function showEvent(event: AgentEvent, { json }: { readonly json: boolean }): readonly Shown[] {
  if (json) return [{ stream: 'stdout', text: `${JSON.stringify(event)}\n` }];
  const stream = event.type === 'answer' ? 'stdout' : 'stderr';
  const text = textOf(event);
  return text === '' ? [] : [{ stream, text: `${linesForTerminal(text)}\n` }];
}

function textOf(event: AgentEvent): string {
  switch (event.type) {
    case 'start':
      return `${oneLine(event.model)}: ${oneLine(event.task)}`;
    case 'thought':
      // Its lines must not look like events of ours.
      return `[${event.step}] ${indented(event.text.trim(), '    ').trimStart()}`;
    case 'call':
      return `[${event.step}] ${oneLine(event.tool)} ${inputText(event.input)}`;
    case 'result':
      return indented(shorten(event.text.trimEnd(), RESULT_CHARACTERS), event.is_error ? '  ! ' : '  | ');
    case 'not_called':
      return `  ! not called, since it is one tool at a time: ${oneLine(event.tools.join(', '))}`;
    case 'usage':
      return '';
    case 'stopped':
      return `Stopped: ${event.because} Go on with --resume.`;
    case 'answer':
      return event.text.trimEnd();
  }
}

/** Code as code, and what else was given before it. */
function inputText(input: unknown): string {
  if (typeof input !== 'object' || input === null || !('code' in input) || typeof input.code !== 'string')
    return shorten(JSON.stringify(input) ?? '', CODE_CHARACTERS);
  const { code, ...rest } = input;
  const others = Object.keys(rest).length === 0 ? '' : `${JSON.stringify(rest)} `;
  const lines = code.trimEnd().split('\n').length;
  const count = `(${lines} ${lines === 1 ? 'line' : 'lines'}, ${code.length} characters)`;
  return `${others}${count}\n${indented(shorten(code.trimEnd(), CODE_CHARACTERS), '  > ')}`;
}

function indented(text: string, margin: string): string {
  return text
    .split('\n')
    .map((line) => `${margin}${line}`)
    .join('\n');
}

function oneLine(text: string): string {
  return forTerminal(shorten(text, TASK_CHARACTERS));
}
