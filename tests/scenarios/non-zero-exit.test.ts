import { describe, expect, it } from 'vitest';
import { getSandbox, runPythonCode } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

useSurroundings();

describe('Given a program that fails', () => {
  it('when it raises, then the result has exit code 1 and the whole traceback, which names its file and line', async () => {
    const { exitCode, outcome, ok, stderr } = await getSandbox().execute(
      'def f():\n    raise ValueError("x")\nf()',
    );
    expect({ exitCode, outcome, ok }).toEqual({ exitCode: 1, outcome: 'exited', ok: false });
    expect(stderr).toMatch(/^Traceback \(most recent call last\):\n/);
    expect(stderr).toMatch(
      /main\.py", line 3, in <module>[\s\S]*main\.py", line 2, in f[\s\S]*ValueError: x\n$/,
    );
  });

  it.each([
    ['exits with 7', 'import sys; sys.exit(7)', { exitCode: 7, outcome: 'exited' }],
    [
      'does not parse',
      'def',
      { exitCode: 1, outcome: 'exited', stderr: expect.stringContaining('SyntaxError') },
    ],
    [
      'kills itself',
      'import os; os.kill(os.getpid(), 9)',
      { exitCode: 137, outcome: 'killed', meta: { signal: 9 } },
    ],
    [
      'runs out of what Python may have',
      'raise MemoryError',
      { exitCode: 1, outcome: 'exited', stderr: expect.stringContaining('MemoryError') },
    ],
  ])('when it %s, then that is an ordinary result', async (_, code, expected) => {
    expect(await getSandbox().execute(code)).toMatchObject({ ok: false, ...expected });
  });

  it('when it printed before, then that is kept', async () => {
    const { stdout } = await getSandbox().execute('print("before"); raise SystemExit(2)');
    expect(stdout).toBe('before\n');
  });

  it('when an agent calls the tool, then the answer begins with the error and nothing is thrown', async () => {
    expect(await runPythonCode('print("before")\nraise ValueError("x")')).toMatch(
      /^Error \(exit_code=1\): Traceback[\s\S]*ValueError: x[\s\S]*before/,
    );
  });
});
