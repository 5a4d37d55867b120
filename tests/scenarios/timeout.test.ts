import { describe, expect, it } from 'vitest';
import { getSandbox, runPythonCode } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();

describe('Given a program that never ends', () => {
  const code = 'import sys; sys.stdout.write("working\\n"); sys.stdout.flush()\nwhile True: pass';

  it('when its time is over, then the result says so and keeps what it printed', async () => {
    const result = await getSandbox().execute(code, { timeout: 2 });
    expect(result).toMatchObject({
      exitCode: -1,
      outcome: 'timed_out',
      timedOut: true,
      ok: false,
      stdout: 'working\n',
      stderr: expect.stringMatching(/timed out after 2 seconds/),
      meta: { timedOut: true, killedBy: 'timeout', resourceLimits: { timeoutSec: 2 } },
    });
    expect(result.duration).toBeGreaterThanOrEqual(2);
    expect(result.duration).toBeLessThan(3.5);
  });

  it('when the limit is a setting, then that is the one that holds', async () => {
    surroundings.set('SANDBOX_TIMEOUT_SEC', '0.5');
    const { outcome, meta } = await getSandbox().execute(code);
    expect([outcome, meta.enforced?.limits.timeoutSec]).toEqual([
      'timed_out',
      { value: 0.5, by: 'timer', default: false },
    ]);
  });

  it('when an agent calls the tool, then the answer says what to do about it', async () => {
    expect(await runPythonCode(code, 0.5)).toMatch(/^Error \(exit_code=-1\): timed out after 0\.5 s\. \w+/);
  });

  it('when the caller cancels it, then it was cancelled and did not time out', async () => {
    const controller = new AbortController();
    const { outcome, exitCode, timedOut, stdout } = await getSandbox().execute(code, {
      signal: controller.signal,
      onOutput: () => controller.abort(),
    });
    expect({ outcome, exitCode, timedOut, stdout }).toEqual({
      outcome: 'cancelled',
      exitCode: 130,
      timedOut: false,
      stdout: 'working\n',
    });
  });
});

describe('Given a timeout that is none', () => {
  it.each([0, -1, Number.NaN])('when it is %s, then it is refused before anything runs', async (timeout) => {
    await expect(getSandbox().execute('print(1)', { timeout })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });
});
