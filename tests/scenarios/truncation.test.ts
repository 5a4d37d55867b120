import { describe, expect, it } from 'vitest';
import { getSandbox, runPythonCode } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();
const MARKER = '... (output truncated)';

describe('Given a program that prints 100,000 lines of 100 characters', () => {
  const code = 'for number in range(100_000): print(f"{number:06d}".ljust(99, "."))';

  it('when it ends, then the result keeps the first and the last line around a marker, and the true count', async () => {
    const { stdout, truncated, outcome, meta } = await getSandbox().execute(code);
    const lines = stdout.split('\n');
    expect({ truncated, outcome, bytes: meta.stdoutBytes, cut: meta.truncated }).toEqual({
      truncated: true,
      outcome: 'exited',
      bytes: 10_000_000,
      cut: true,
    });
    expect([lines.at(0), lines.at(-2)]).toEqual(['000000'.padEnd(99, '.'), '099999'.padEnd(99, '.')]);
    expect(lines.filter((line) => line === MARKER)).toHaveLength(1);
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(10 * 1024 + MARKER.length + 2);
  });

  it('when the limit is a setting, then that much is kept', async () => {
    surroundings.set('SANDBOX_MAX_OUTPUT_KB', '1');
    const { stdout } = await getSandbox().execute(code);
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(1024 + MARKER.length + 2);
    expect(stdout).toContain(MARKER);
  });

  it('when the caller listens, then all of it comes by', async () => {
    let heard = 0;
    await getSandbox().execute(code, {
      onOutput: ({ text }) => {
        heard += text.length;
      },
    });
    expect(heard).toBe(10_000_000);
  });

  it('when an agent calls the tool, then the answer names the true count', async () => {
    const answer = await runPythonCode(code);
    expect(answer).toContain(MARKER);
    expect(answer).toContain('10000000 bytes');
  });
});

describe('Given a program that prints as much as fits', () => {
  it('when it ends, then nothing is cut', async () => {
    const { stdout, truncated } = await getSandbox().execute('print("x" * 1023)', { maxOutputKb: 1 });
    expect({ length: stdout.length, truncated }).toEqual({ length: 1024, truncated: false });
  });

  it('when there is one byte more, then it is cut', async () => {
    const { stdout, truncated } = await getSandbox().execute('print("x" * 1024)', { maxOutputKb: 1 });
    expect({ marked: stdout.includes(MARKER), truncated }).toEqual({ marked: true, truncated: true });
  });
});

describe('Given a program that floods stderr only', () => {
  it('when it ends, then stdout is whole', async () => {
    const code = 'import sys; print("whole"); sys.stderr.write("x" * 1_000_000)';
    const { stdout, stderr, truncated, meta } = await getSandbox().execute(code);
    expect({ stdout, truncated, bytes: meta.stderrBytes }).toEqual({
      stdout: 'whole\n',
      truncated: true,
      bytes: 1_000_000,
    });
    expect(stderr).toContain(MARKER);
  });
});
