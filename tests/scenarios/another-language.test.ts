import { describe, expect, it } from 'vitest';
import { createSandbox, getSandbox, runCode } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();

describe('Given one sandbox for every language', () => {
  it.each([
    ['javascript', 'console.log(JSON.stringify({ node: typeof process.version }))', '{"node":"string"}\n'],
    ['shell', 'set -u; for i in 1 2 3; do printf "%s " "$i"; done; echo', '1 2 3 \n'],
    ['python', 'print([n ** 2 for n in range(4)])', '[0, 1, 4, 9]\n'],
  ])('when a program is in %s, then its interpreter runs it', async (language, code, stdout) => {
    const result = await getSandbox().execute(code, { language });
    expect(result).toMatchObject({ stdout, stderr: '', exitCode: 0, meta: { language } });
    expect(result.meta.versions['interpreter']).toMatch(/^\d+\.\d+/);
  });

  it.each([
    ['javascript', 'throw new TypeError("x")', /main\.mjs:1[\s\S]*TypeError: x/],
    ['shell', 'echo fine\nno_such_command', /main\.sh: line 2: no_such_command: command not found/],
  ])('when a %s program fails, then its own error names its file and line', async (language, code, error) => {
    const { ok, outcome, stderr } = await getSandbox().execute(code, { language });
    expect({ ok, outcome }).toEqual({ ok: false, outcome: 'exited' });
    expect(stderr).toMatch(error);
  });

  it('when JavaScript waits at the top level, then that is waited for', async () => {
    const code =
      'import { setTimeout } from "node:timers/promises"; await setTimeout(10); console.log("later")';
    expect((await getSandbox().execute(code, { language: 'javascript' })).stdout).toBe('later\n');
  });

  it('when a language has another name that people use, then that works too', async () => {
    const answers = [
      await runCode('console.log("js")', { language: 'js' }),
      await runCode('echo bash', { language: 'bash' }),
      await runCode('print("py")', { language: 'py' }),
    ];
    expect(answers).toEqual(['js', 'bash', 'py']);
  });

  it('when a live sandbox has several, then they share its files', async () => {
    await using sandbox = await createSandbox();
    await sandbox.execute('open("shared.txt", "w").write("from Python")');
    const { stdout } = await sandbox.execute(
      'import { readFileSync } from "node:fs"; console.log(readFileSync("shared.txt", "utf8"))',
      { language: 'javascript' },
    );
    expect(stdout).toBe('from Python\n');
  });
});

describe('Given a language that is not to be had', () => {
  it('when nobody knows it, then it is refused with the ones that there are', async () => {
    await expect(getSandbox().execute('x', { language: 'cobol' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('cobol'),
      hint: expect.stringMatching(/python.*javascript.*shell/),
    });
  });

  it('when the operator does not allow it, then it is refused', async () => {
    surroundings.set('SANDBOX_SUPPORTED_LANGUAGES', 'python');
    await expect(getSandbox().execute('echo', { language: 'shell' })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
    });
  });

  it('when its interpreter is missing, then the error names what to install or set', async () => {
    surroundings.set('SANDBOX_NODE', '/no/such/node');
    await expect(getSandbox().execute('1', { language: 'javascript' })).rejects.toMatchObject({
      code: 'LANGUAGE_UNAVAILABLE',
      message: expect.stringContaining('/no/such/node'),
      hint: expect.stringContaining('SANDBOX_NODE'),
    });
  });
});
