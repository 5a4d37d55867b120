import { describe, expect, it } from 'vitest';
import { getSandbox, runPythonCode } from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { useSurroundings } from './support/surroundings.ts';

useSurroundings();

describe('Given a machine on which nothing is set', () => {
  it('when a program runs, then the local runtime runs it and the result says what held', async () => {
    const result = await getSandbox().execute("print('Hello')", { language: 'python', timeout: 30 });
    expect(result).toMatchObject({
      stdout: 'Hello\n',
      stderr: '',
      exitCode: 0,
      outcome: 'exited',
      ok: true,
      truncated: false,
      timedOut: false,
      meta: {
        runtime: 'local',
        language: 'python',
        enforced: { isolation: expect.stringMatching(/^(process|namespace)$/) },
        resourceLimits: { timeoutSec: 30, memoryMb: 512, diskMb: 256, processes: 64, maxOutputKb: 10 },
      },
    });
    expect(result.duration).toBeGreaterThan(0);
    expect(result.duration).toBeLessThan(1);
  });

  it('when no language is named, then it is Python', async () => {
    const { stdout, meta } = await getSandbox().execute('import sys; print(sys.version_info.major)');
    expect([stdout, meta.language]).toEqual(['3\n', 'python']);
  });

  it('when an agent calls the tool, then it gets one string with what was printed', async () => {
    expect(await runPythonCode('print(6 * 7)')).toBe('42');
  });

  it('when two programs run one after another, then the second has nothing of the first', async () => {
    const sandbox = getSandbox();
    await sandbox.execute('open("left.txt", "w").write("x")');
    const { stdout } = await sandbox.execute('import os; print(sorted(os.listdir(".")))');
    expect(stdout).toBe("['main.py']\n");
  });

  it('when several agents call the tool at the same time, then each gets its own answer', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => runPythonCode(`print("${name}")`)));
    expect(answers).toEqual(['a', 'b', 'c', 'd']);
  });

  it('when two programs run at the same time, then each gets its own result', async () => {
    const sandbox = getSandbox();
    const results = await Promise.all(['a', 'b', 'c'].map((name) => sandbox.execute(`print("${name}")`)));
    expect(results.map(({ stdout }) => stdout)).toEqual(['a\n', 'b\n', 'c\n']);
  });
});

describeWith(['bubblewrap'], 'Given a machine with bubblewrap on which nothing is set', () => {
  it('when a program runs, then it is held in namespaces without a word', async () => {
    const { meta } = await getSandbox().execute('pass');
    expect(meta.enforced).toMatchObject({ isolation: 'namespace', network: 'none', filesystem: 'private' });
    expect(meta.warnings).toBeUndefined();
  });

  it('when the caller demands more than it can hold, then it is refused before anything runs', async () => {
    await expect(getSandbox().execute('print(1)', { minIsolation: 'kernel' })).rejects.toMatchObject({
      name: 'SandboxError',
      code: 'POLICY_NOT_ENFORCEABLE',
      hint: expect.stringMatching(/\S/),
    });
  });
});
