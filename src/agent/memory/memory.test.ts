import { expect, it } from 'vitest';
import { newMemory, withCall } from './memory.ts';

it('remembers of a value that is nested too deeply what can be written', () => {
  const input = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  const { executions } = withCall(newMemory('task', 'model'), {
    ...{ at: '2026-01-01T00:00:00.000Z', tool: 'lookup', input: { input }, is_error: false },
    result: { near: [1], deep: input },
  });
  expect(executions[0]?.result).toMatchObject({ near: [1] });
  expect(JSON.stringify(executions)).toContain('(nested too deeply)');
});
