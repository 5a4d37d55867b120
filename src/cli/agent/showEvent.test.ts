import { expect, it } from 'vitest';
import type { AgentEvent } from '../../agent/event.ts';
import { showEvent } from './showEvent.ts';

const usage = { steps: 1, input_tokens: 1, output_tokens: 1 };
const shown = (event: AgentEvent) => showEvent(event, { json: false });

it('shows code as code with what is given besides, shortened in the middle, and counts both', () => {
  const code = `a = 1\n${'b\n'.repeat(5000)}print(a)`;
  const [{ stream, text } = { stream: '', text: '' }] = shown({
    ...{ type: 'call', step: 2, tool: 'code_execute' },
    input: { language: 'python', code },
  } as AgentEvent);
  expect(stream).toBe('stderr');
  expect(text).toMatch(
    /^\[2\] code_execute \{"language":"python"\} \(5002 lines, 10014 characters\)\n {2}> a = 1\n/,
  );
  expect(text).toMatch(/ {2}> \.\.\. \(\d+ characters, \d+ line breaks left out\) \.\.\.\n/);
  expect(text).toMatch(/ {2}> print\(a\)\n$/);
  expect(text.length).toBeLessThan(10_000);
});

it('writes the answer alone to standard output, and nothing that a terminal would obey', () => {
  expect(shown({ type: 'answer', text: '4\u001b[2J\u202e\n', usage })).toEqual([
    { stream: 'stdout', text: '4\\x1b[2J\\u{202e}\n' },
  ]);
  const result: AgentEvent = { type: 'result', step: 1, tool: 't', is_error: true, text: 'a\r\nb\u0007' };
  expect(shown(result)).toEqual([{ stream: 'stderr', text: '  ! a\\x0d\n  ! b\\x07\n' }]);
  expect(shown({ type: 'thought', step: 1, text: '\u009b31m' })).toEqual([
    { stream: 'stderr', text: '[1] \\x9b31m\n' },
  ]);
  expect(shown({ type: 'usage', step: 1, usage })).toEqual([]);
});

it('lets a model write no lines that look like events', () => {
  const forged = 'hm\n[2] code_execute {}\n  | all tests passed';
  expect(shown({ type: 'thought', step: 1, text: forged })).toEqual([
    { stream: 'stderr', text: '[1] hm\n    [2] code_execute {}\n      | all tests passed\n' },
  ]);
  const events: AgentEvent[] = [
    { type: 'call', step: 1, tool: forged, input: {} },
    { type: 'not_called', step: 1, tools: [forged] },
    { type: 'start', task: forged, model: forged, tools: [], resumed: false },
  ];
  for (const event of events) expect(shown(event)[0]?.text.trimEnd()).not.toContain('\n');
});

it('is one line of JSON for a program', () => {
  const event: AgentEvent = { type: 'thought', step: 1, text: 'a\nb' };
  expect(showEvent(event, { json: true })).toEqual([
    { stream: 'stdout', text: '{"type":"thought","step":1,"text":"a\\nb"}\n' },
  ]);
});
