import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getSandbox, runPythonCode } from '../../src/index.ts';
import { useSurroundings } from './support/surroundings.ts';

const surroundings = useSurroundings();

describe('Given SANDBOX_BLOCK_DANGEROUS_IMPORTS=true', () => {
  const blocking = (): void => surroundings.set('SANDBOX_BLOCK_DANGEROUS_IMPORTS', 'true');

  it('when a program imports subprocess, then it is blocked before it runs, by name', async () => {
    blocking();
    // A plain process, which could leave a trace here.
    surroundings.set('SANDBOX_LOCAL_ISOLATION', 'none');
    const proof = join(surroundings.folder, 'proof.txt');
    const code = `open(${JSON.stringify(proof)}, 'w').write('ran')\ndef later():\n    import subprocess`;
    const result = await getSandbox().execute(code);
    expect(result).toMatchObject({
      outcome: 'blocked',
      exitCode: 1,
      ok: false,
      stdout: '',
      stderr: expect.stringContaining('subprocess'),
      meta: { blockedImports: ['subprocess'], enforced: null },
    });
    expect(existsSync(proof)).toBe(false);
    await getSandbox().execute(code.replace('import subprocess', 'pass'));
    expect(existsSync(proof)).toBe(true);
  });

  it.each([
    ['javascript', 'import { exec } from "node:child_process"', 'child_process'],
    ['javascript', 'const fs = require("fs")', 'fs'],
    ['python', '__import__("socket")', 'socket'],
    ['python', 'from os import path', 'os'],
  ])('when a %s program says %s, then %s is named', async (language, code, name) => {
    blocking();
    const { outcome, meta } = await getSandbox().execute(code, { language });
    expect([outcome, meta.blockedImports]).toEqual(['blocked', [name]]);
  });

  it('when a program only speaks of it in a string, then it runs', async () => {
    blocking();
    const { stdout } = await getSandbox().execute('print("import subprocess")  # import os');
    expect(stdout).toBe('import subprocess\n');
  });

  it('when the program does not parse, then it fails with the error of its interpreter', async () => {
    blocking();
    const { outcome, stderr } = await getSandbox().execute('import subprocess (');
    expect([outcome, stderr]).toEqual(['exited', expect.stringContaining('SyntaxError')]);
  });

  it('when a program is blocked, then that is recorded like any failure', async () => {
    blocking();
    const { meta } = await getSandbox().execute('import subprocess');
    expect(JSON.parse(readFileSync(meta.artifact ?? '', 'utf8'))).toMatchObject({
      code: 'import subprocess',
      result: { outcome: 'blocked' },
    });
  });

  it('when an agent calls the tool, then the answer names the module and what to use instead', async () => {
    blocking();
    expect(await runPythonCode('import subprocess')).toMatch(/^Error \(exit_code=1\): .*subprocess/);
  });

  it('when the list is a setting, then that is the one that counts', async () => {
    blocking();
    surroundings.set('SANDBOX_BLOCKED_IMPORTS', 'python:math');
    const math = await getSandbox().execute('import math');
    const os = await getSandbox().execute('import os; print("ran")');
    expect([math.outcome, os.stdout]).toEqual(['blocked', 'ran\n']);
  });
});

describe('Given SANDBOX_BLOCK_DANGEROUS_IMPORTS=warn', () => {
  it('when a program imports subprocess, then it runs and the result reports it', async () => {
    surroundings.set('SANDBOX_BLOCK_DANGEROUS_IMPORTS', 'warn');
    const { outcome, stdout, meta } = await getSandbox().execute('import subprocess; print("ran")');
    expect([outcome, stdout, meta.blockedImports]).toEqual(['exited', 'ran\n', ['subprocess']]);
  });
});

describe('Given no such setting', () => {
  it('when a program imports subprocess, then it runs', async () => {
    const { outcome, stdout, meta } = await getSandbox().execute('import subprocess; print("ran")');
    expect([outcome, stdout, meta.blockedImports]).toEqual(['exited', 'ran\n', []]);
  });
});
