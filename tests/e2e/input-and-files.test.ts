import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSandbox, getSandbox } from '../../src/index.ts';
import { REPOSITORY } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();
const ECHO = 'import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(b"<" + data + b">")';

describe('standard input', () => {
  it('is the text of --stdin', async () => {
    expect((await glovebox.run(['run', '--stdin', 'two\nlines', '-c', ECHO])).stdout).toBe('<two\nlines>');
  });

  it('is the file of --stdin @FILE, byte for byte', async () => {
    writeFileSync(join(glovebox.folder, 'input.bin'), Uint8Array.from([0, 255, 10, 13, 128]));
    const code = 'import sys; print(list(sys.stdin.buffer.read()))';
    const { stdout } = await glovebox.run(['run', '--stdin', '@input.bin', '-c', code]);
    expect(stdout).toBe('[0, 255, 10, 13, 128]\n');
  });

  it('may be a file that is not there, which is an error with its name', async () => {
    const { status, stderr } = await glovebox.run(['run', '--stdin', '@absent.txt', '-c', ECHO]);
    expect(status).toBe(125);
    expect(stderr).toContain('absent.txt');
  });

  it('is our own when it is a pipe', async () => {
    expect((await glovebox.run(['run', '-c', ECHO], { stdin: 'piped' })).stdout).toBe('<piped>');
  });

  it('is our own for a file too', async () => {
    glovebox.file('echo.py', ECHO);
    expect((await glovebox.run(['run', 'echo.py'], { stdin: 'piped' })).stdout).toBe('<piped>');
  });

  it('is our own when it is a file', async () => {
    const input = glovebox.file('input.txt', 'from a file');
    const wrapper = ['bash', '-c', 'exec "$@" < "$0"', input];
    expect((await glovebox.run(['run', '-c', ECHO], { wrapper })).stdout).toBe('<from a file>');
  });

  it('is passed on whole, also when there is much of it', async () => {
    const code = 'import sys, hashlib; data = sys.stdin.buffer.read(); print(len(data))';
    const { stdout } = await glovebox.run(['run', '-c', code], { stdin: Buffer.alloc(5_000_000, 'x') });
    expect(stdout).toBe('5000000\n');
  });

  it('is empty for the program when the code came from it', async () => {
    expect((await glovebox.run(['run', '-'], { stdin: `${ECHO}\n` })).stdout).toBe('<>');
  });

  it('does not hold up a program that ignores it, when nobody writes to it or closes it', async () => {
    const { status, stdout, seconds } = await glovebox.run(['run', '-c', 'print("done")'], { stdin: 'open' });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'done\n' });
    // The time limit would end it after half a minute.
    expect(seconds).toBeLessThan(15);
  });

  it('may hold more than the program reads', async () => {
    const { status, stdout } = await glovebox.run(['run', '-c', 'print(input())'], {
      stdin: `first\n${'x\n'.repeat(1_000_000)}`,
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'first\n' });
  });
});

describe('--file', () => {
  it('puts a file of ours into the workspace, under its own name', async () => {
    glovebox.file('data/in.csv', 'a,b\n1,2\n');
    const { stdout } = await glovebox.run([
      ...['run', '--file', 'data/in.csv', '-c', 'print(open("in.csv").read(), end="")'],
    ]);
    expect(stdout).toBe('a,b\n1,2\n');
  });

  it('puts it under another name, also in a folder, and takes several', async () => {
    glovebox.file('one.txt', '1');
    glovebox.file('two.txt', '2');
    const { stdout } = await glovebox.run([
      ...['run', '--file', 'one.txt:first.txt', '--file', 'two.txt:deep/er/second.txt'],
      ...['-c', 'print(open("first.txt").read() + open("deep/er/second.txt").read())'],
    ]);
    expect(stdout).toBe('12\n');
  });

  it('leaves our file as it was, whatever the program does to its copy', async () => {
    const path = glovebox.file('in.txt', 'ours');
    await glovebox.run(['run', '--file', 'in.txt', '-c', 'open("in.txt", "w").write("theirs")']);
    expect(readFileSync(path, 'utf8')).toBe('ours');
  });

  it.each([
    ['absent.txt', /absent\.txt/],
    ['in.txt:../outside.txt', /outside/],
    ['in.txt:main.py', /main\.py/],
  ])('refuses %s with 125', async (given, named) => {
    glovebox.file('in.txt', 'x');
    const { status, stdout, stderr } = await glovebox.run(['run', '--file', given, '-c', 'print("ran")']);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
    expect(stderr).toMatch(named);
  });
});

describe('--out', () => {
  it('brings a file of the workspace back, byte for byte', async () => {
    const { status } = await glovebox.run([
      ...['run', '--out', 'result.bin', '-c', 'open("result.bin", "wb").write(bytes(range(256)))'],
    ]);
    expect(status).toBe(0);
    expect([...readFileSync(join(glovebox.folder, 'result.bin'))]).toEqual(Array.from(Array(256).keys()));
  });

  it('writes it where we say', async () => {
    const target = join(glovebox.temporary, 'elsewhere.txt');
    await glovebox.run([
      'run',
      '--out',
      `sub/a.txt:${target}`,
      '-l',
      'shell',
      '-c',
      'mkdir sub; echo hi > sub/a.txt',
    ]);
    expect(readFileSync(target, 'utf8')).toBe('hi\n');
  });

  it('brings it back also from a program that failed, whose exit status stays', async () => {
    const code = 'open("partial.txt", "w").write("half"); raise SystemExit(3)';
    const { status } = await glovebox.run(['run', '--out', 'partial.txt', '-c', code]);
    expect(status).toBe(3);
    expect(readFileSync(join(glovebox.folder, 'partial.txt'), 'utf8')).toBe('half');
  });

  it('is 125 when the program succeeded and did not write it, and says which', async () => {
    const { status, stderr } = await glovebox.run(['run', '--out', 'never.txt', '-c', 'pass']);
    expect(status).toBe(125);
    expect(stderr).toContain('never.txt');
    expect(existsSync(join(glovebox.folder, 'never.txt'))).toBe(false);
  });

  it('never follows a link that the program made', async () => {
    const secret = glovebox.file('secret.txt', 'host secret');
    const { status } = await glovebox.run([
      ...[
        'run',
        '--out',
        'got.txt',
        '-c',
        'import os, sys; os.symlink(sys.argv[1], "got.txt")',
        '--',
        secret,
      ],
    ]);
    expect(status).toBe(125);
    expect(existsSync(join(glovebox.folder, 'got.txt'))).toBe(false);
  });

  it('names place and size with --json, and leaves the content out', async () => {
    const { stdout } = await glovebox.run([
      ...[
        'run',
        '--json',
        '--out',
        'a.txt',
        '-c',
        'open("a.txt", "w").write("content-of-it"); print("done")',
      ],
    ]);
    const json = JSON.parse(stdout);
    expect(json.files).toEqual({ 'a.txt': { path: 'a.txt', size: 13 } });
    expect(stdout).not.toContain('content-of-it"}');
  });
});

describe('a table in and a chart out, in one run', () => {
  const program = readFileSync(join(REPOSITORY, 'examples/csv-to-chart.py'), 'utf8');
  const table = 'month,sales\nJan,10\nFeb,30\nMar,20\n';

  it('works by the command', async () => {
    glovebox.file('plot.py', program);
    glovebox.file('numbers.csv', table);
    const { status } = await glovebox.run([
      ...['run', 'plot.py', '--file', 'numbers.csv:sales.csv', '--out', 'chart.svg:drawn.svg'],
    ]);
    expect(status).toBe(0);
    expect(bars(readFileSync(join(glovebox.folder, 'drawn.svg'), 'utf8'))).toBe(3);
  });

  it('works by the library', async () => {
    const { outcome, files } = await getSandbox({ cwd: glovebox.folder }).execute(program, {
      files: { 'sales.csv': table },
      collect: ['chart.svg'],
    });
    expect(outcome).toBe('exited');
    expect(bars(Buffer.from(files?.['chart.svg'] ?? []).toString())).toBe(3);
  });

  it('works in a live sandbox, in two steps', async () => {
    await using sandbox = await createSandbox({ cwd: glovebox.folder });
    await sandbox.writeFile('sales.csv', table);
    await sandbox.execute(program);
    expect(bars((await sandbox.readFile('chart.svg')).content)).toBe(3);
  });

  function bars(svg: string): number {
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    return svg.match(/<rect /g)?.length ?? 0;
  }
});

describe('--env', () => {
  it('gives the program a variable, also with an equals sign in it', async () => {
    const { stdout } = await glovebox.run([
      ...['run', '--env', 'GREETING=a=b c', '--env', 'EMPTY='],
      ...['-c', 'import os; print(repr(os.environ["GREETING"]), repr(os.environ["EMPTY"]))'],
    ]);
    expect(stdout).toBe("'a=b c' ''\n");
  });

  it("is all that the program has besides its own: none of the caller's", async () => {
    const code = 'import json, os; print(json.dumps(dict(os.environ)))';
    const { stdout } = await glovebox.run(['run', '--env', 'GIVEN=1', '-c', code], {
      env: { AWS_SECRET_ACCESS_KEY: 'caller-secret', LC_ALL: 'POSIX' },
    });
    // Python adds LC_CTYPE to what it was given, and bubblewrap PWD, which is the workspace.
    const { LC_CTYPE: _, PWD: folder, ...variables } = JSON.parse(stdout);
    expect(Object.keys(variables).sort()).toEqual(['GIVEN', 'HOME', 'LANG', 'PATH', 'TMPDIR']);
    expect([undefined, variables.HOME]).toContain(folder);
    expect(stdout).not.toContain('caller-secret');
  });

  it.each(['NOEQUALS', '=value', '1A=b'])('refuses %s with 125', async (given) => {
    const { status, stdout } = await glovebox.run(['run', '--env', given, '-c', 'print("ran")']);
    expect({ status, stdout }).toEqual({ status: 125, stdout: '' });
  });
});
