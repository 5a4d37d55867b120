import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { SandboxError } from '../../errors.ts';
import type { ExecutionResult } from '../../result/result.ts';
import { readResults, resultLine } from './resultLine.ts';

const META = { resourceLimits: {}, versions: {} } as unknown as ExecutionResult['meta'];

function line(id: string, outcome = 'exited', stdout = ''): string {
  const result = { outcome, stdout, meta: META } as ExecutionResult;
  return resultLine({ id, sha256: `sha of ${id}` }, { result });
}

const read = (text: string) => readResults(Readable.from([Buffer.from(text)]), 'results.jsonl');

describe('a result as a line', () => {
  it('holds no character that a reader or a terminal could take for more, and loses none', () => {
    const hostile = '\n\r\u0085\u2028\u2029\u009b2J\x1b[2J\u202e\ufeff\u{e0001}\ud800 é 漢 😀"\\';
    const written = line('a\u2028b', 'exited', hostile);
    expect(written).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*\n$/u);
    expect(JSON.parse(written)).toMatchObject({ id: 'a\u2028b', sha256: 'sha of a\u2028b', stdout: hostile });
  });

  it('tells an error as every surface does', () => {
    const error = new SandboxError('INPUT_INVALID', 'No.', { hint: 'Yes.' });
    expect(JSON.parse(resultLine({ id: 'a', sha256: null }, { error }))).toEqual({
      ...{ id: 'a', sha256: null },
      error: { code: 'INPUT_INVALID', message: 'No.', hint: 'Yes.', details: {} },
    });
  });
});

describe('results that are read back', () => {
  const [a, b, c, stopped] = [line('a'), line('b', 'timed_out'), line('é'), line('s', 'cancelled')];

  it('end before what was torn off, wherever that was', async () => {
    const whole = Buffer.from(a + b + c);
    for (let length = a.length; length < whole.length; length++) {
      const torn = Readable.from([whole.subarray(0, length)]);
      const { programs, end } = await readResults(torn, 'results.jsonl');
      const [held, count] = length < a.length + b.length ? [a.length, 1] : [a.length + b.length, 2];
      expect([end, programs.size]).toEqual([held, count]);
    }
    const { programs, end } = await read(a + b + c);
    expect([...programs]).toEqual(['a', 'b', 'é'].map((id) => [id, `sha of ${id}`]));
    expect(end).toBe(whole.length);
  });

  it('end before the programs that were cancelled last, which run again', async () => {
    const { programs, end } = await read(a + stopped + stopped);
    expect([[...programs.keys()], end]).toEqual([['a'], a.length]);
    const between = await read(a + stopped + b);
    expect([...between.programs.keys()]).toEqual(['a', 's', 'b']);
  });

  it('are refused where they are none', async () => {
    for (const other of ['{"id":"x"}\n', 'text\n', '\xff\n', '\n']) {
      await expect(read(a + other)).rejects.toMatchObject({
        ...{ code: 'INPUT_INVALID', message: 'results.jsonl, line 2 is no result of run-many.' },
      });
    }
  });
});
