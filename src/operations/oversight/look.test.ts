import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { findLanguage } from '../../languages/index.ts';
import type { Program } from '../../sandbox/program.ts';
import { lookAtProgram, MAX_LOOKED_AT_BYTES } from './look.ts';

const EVIL = Buffer.from("\nimport shutil; shutil.rmtree('/x')\n");
const EVIL_SCRIPT = Buffer.from('\nrm -rf /\n');
const EVIL_JAVASCRIPT = Buffer.from("\nrequire('fs').rmSync('/x', { recursive: true })\n");

interface Given {
  readonly args?: readonly string[];
  readonly files?: Program['files'];
  readonly stdin?: unknown;
}

const code = (text: string, language = 'python'): Program['run'] => ({
  code: Buffer.from(text),
  language: findLanguage(language),
});
const command = (...argv: [string, ...string[]]): Program['run'] => ({ command: argv });

async function dangersOf(run: Program['run'], { args = [], files = {}, stdin }: Given = {}) {
  const { sights, notInspected } = await lookAtProgram({ run, args, files }, stdin);
  const dangers = sights.filter(({ isDangerous }) => isDangerous);
  return { dangers: dangers.map(({ line, why }) => `${line}: ${why}`), notInspected };
}

const WHY = 'deletes what is outside of the working folder';

describe('what comes along with a program is looked at', () => {
  it.each<[string, Program['run'], Given, string]>([
    ['a module', code('import helper'), { files: { 'helper.py': EVIL } }, '2: … (in helper.py)'],
    ['a script', command('./go.sh'), { files: { 'go.sh': EVIL_SCRIPT } }, '2: … (in go.sh)'],
    ['a file without a name of code', command('python3', './x'), { files: { x: EVIL } }, '2: … (in x)'],
    ['a file by its whole path', command('sh', '/workspace/x'), { files: { x: EVIL_SCRIPT } }, '2: … (in x)'],
    [
      'a file that a script runs',
      code('node x', 'shell'),
      { files: { './x': EVIL_JAVASCRIPT } },
      '2: … (in ./x)',
    ],
    ['an argument', command('sh'), { args: ['-c', 'rm -rf /'] }, '1: …'],
  ])('as %s', async (_, run, given, told) => {
    const { dangers } = await dangersOf(run, given);
    expect(dangers).toEqual([told.replace('…', WHY)]);
  });

  const READS_PYTHON: [string, ...string[]][] = [
    ['python3'],
    ['python3', '-'],
    ['/usr/bin/python3.11', '-u', '-', 'argument'],
    ['python3', '-W', 'ignore'],
    ['python3', '-i', '-c', 'pass'],
    ['python3', '/dev/stdin'],
    ['env', 'A=1', 'python3', '-'],
    ['sh', '-c', 'cat | python3'],
  ];
  it.each(READS_PYTHON.map((argv) => [argv]))('as the input of %j', async (argv) => {
    const { dangers } = await dangersOf(command(...argv), { stdin: EVIL });
    expect(dangers).toEqual([`2: ${WHY} (in its standard input)`]);
  });

  const READS_SCRIPTS: [string, ...string[]][] = [
    ['sh'],
    ['bash', '-s', 'argument'],
    ['bash', '-eo', 'pipefail'],
    ['timeout', '5', 'sh', '-'],
    ['sh', '-c', '. /dev/stdin'],
    ['sh', '-c', '{ cat; } | sh'],
  ];
  it.each(READS_SCRIPTS.map((argv) => [argv]))('as the input of %j', async (argv) => {
    const { dangers } = await dangersOf(command(...argv), { stdin: EVIL_SCRIPT });
    expect(dangers).toEqual([`2: ${WHY} (in its standard input)`]);
  });

  it('as the input of other programs that it starts', async () => {
    expect((await dangersOf(command('node', '-'), { stdin: EVIL_JAVASCRIPT })).dangers).toHaveLength(1);
    const starts = code("import os; os.system('python3 -')");
    expect((await dangersOf(starts, { stdin: EVIL })).dangers).toHaveLength(1);
  });

  it('and told to be unknown where it is a stream that is run', async () => {
    const because = 'Its standard input is a stream, and is run as a program.';
    for (const stdin of [Readable.from(['x']), 'stream'])
      expect(await dangersOf(command('sh'), { stdin })).toEqual({ dangers: [], notInspected: because });
  });

  it('up to a bound, beyond which it is told to be unknown', async () => {
    const part = Buffer.from('x = 1\n'.repeat(40_000));
    const many = Object.fromEntries(
      Array.from({ length: MAX_LOOKED_AT_BYTES / part.length + 1 }, (_, i) => [`${i}.py`, part]),
    );
    const { notInspected } = await dangersOf(code('1'), { files: many });
    expect(notInspected).toBe('It comes with more code than the 2097152 bytes that are looked at.');
    const long = { 'long.py': Buffer.alloc(300 * 1024, ' ') };
    expect((await dangersOf(code('1'), { files: long })).notInspected).toMatch(/^long\.py: The code has/);
  });

  it('with the dangerous sights first where there are too many', async () => {
    const files = { 'a.py': Buffer.from("import os\nos.remove('a')\n".repeat(200)), 'b.py': EVIL };
    const { sights } = await lookAtProgram({ run: code('1'), args: [], files }, undefined);
    expect(sights).toHaveLength(100);
    expect(sights[0]).toMatchObject({ isDangerous: true, why: `${WHY} (in b.py)` });
  });
});

describe('what is only data raises no alarm', () => {
  it.each<[string, Program['run'], Given]>([
    ['a file of data', code('open("x").read()'), { files: { x: EVIL_SCRIPT } }],
    ['the input of a program', code('input()'), { stdin: EVIL_SCRIPT }],
    ['the input of a script', command('python3', 'count.py', '-'), { stdin: EVIL }],
    ['the input of code that is given', command('python3', '-c', 'input()'), { stdin: EVIL }],
    ['a stream for a filter', command('sort'), { stdin: Readable.from(['x']) }],
    ['an input beside another one', command('sh', '-c', 'echo ls | sh'), { stdin: EVIL_SCRIPT }],
  ])('%s', async (_, run, given) => {
    expect(await dangersOf(run, given)).toEqual({ dangers: [], notInspected: undefined });
  });
});
