import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linesOf } from './lines.ts';
import { type Digested, programDigest } from './programDigest.ts';
import { type FoundProgram, type ProgramSource, programsAt, programsFrom } from './readPrograms.ts';
import { stillToRun } from './stillToRun.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'read-programs-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const lines = (...texts: readonly string[]): ProgramSource =>
  programsFrom(Readable.from([Buffer.from(texts.join('\n'))]), 'list.jsonl', folder);

const refused = (message: unknown) => expect.objectContaining({ code: 'INPUT_INVALID', message });

describe('lines', () => {
  it('are ended by a line feed and by nothing else, wherever the pieces are cut', async () => {
    const text = Buffer.from('{"a":"é\u2028b"}\r\n\n\u0085é\nlast');
    for (const size of [1, 2, 3, 100]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.subarray(at * size, (at + 1) * size),
      );
      const read = await all(linesOf(Readable.from(pieces), 'x'));
      expect(read.map(({ bytes, ...line }) => ({ ...line, text: Buffer.from(bytes).toString() }))).toEqual([
        { number: 1, text: '{"a":"é\u2028b"}\r', end: 16, isWhole: true },
        { number: 2, text: '', end: 17, isWhole: true },
        { number: 3, text: '\u0085é', end: 22, isWhole: true },
        { number: 4, text: 'last', end: 26, isWhole: false },
      ]);
    }
  });

  it('are refused when one has no end', async () => {
    const endless = function* () {
      for (;;) yield Buffer.alloc(1024 * 1024, 'x');
    };
    await expect(all(linesOf(Readable.from(endless()), 'list'))).rejects.toEqual(
      refused('list, line 1 has more than 64 MB.'),
    );
  });
});

describe('programs of lines', () => {
  it('are read with all that they may have', async () => {
    put('sub/main.sh', 'echo hi');
    const found = await all(
      lines(
        '\ufeff{"id":"a","code":"print(1)","args":["x"],"env":{"A":"b"},"stdin":"in","timeout":5}',
        '',
        '{"code_base64":"cHJpbnQoMik=","language":"python"}',
        '{"id":"c","path":"sub/main.sh","files":{"in":{"content":"AP8=","encoding":"base64"}}}',
      ).read(),
    );
    const programs = found.map((program) => ('program' in program ? program.program : program.error));
    expect(programs).toEqual([
      { id: 'a', code: 'print(1)', args: ['x'], env: { A: 'b' }, stdin: 'in', timeout: 5 },
      { id: '3', code: Buffer.from('print(2)'), language: 'python' },
      {
        ...{ id: 'c', code: Buffer.from('echo hi'), language: 'shell' },
        files: { in: Buffer.from([0, 255]) },
      },
    ]);
    expect(found.map(({ where }) => where)).toEqual(['line 1', 'line 3', 'line 4']);
  });

  it.each([
    ['no JSON', '{"code":', 'list.jsonl, line 2 is no JSON.'],
    ['no code', '{"id":"x"}', /^list\.jsonl, line 2 cannot be used: needs exactly one of code/],
    ['two codes', '{"code":"1","path":"x"}', /needs exactly one of code/],
    ['a member that is not known', '{"code":"1","tiemout":3}', /line 2 cannot be used: .*"tiemout"/],
    ['a value that cannot be meant', '{"code":"1","timeout":-3}', /line 2 cannot be used: timeout: /],
    ['no base64', '{"code_base64":"%"}', 'list.jsonl, line 2 cannot be used: code_base64: is no base64.'],
  ])('end with the line that has %s', async (_, line, message) => {
    const found = lines('{"code":"1"}', line, '{"code":"2"}').read();
    const pattern = typeof message === 'string' ? message : expect.stringMatching(message);
    await expect(all(found)).rejects.toEqual(refused(pattern));
  });

  it('never show the value of a variable', async () => {
    const error: Error = await all(lines('{"code":"1","env":{"KEY":"s3cret\\u0000"}}').read()).then(
      () => new Error('It was read.'),
      (thrown: Error) => thrown,
    );
    expect(JSON.stringify({ ...error, text: error.message })).not.toContain('s3cret');
    expect(error.message).toBe('list.jsonl, line 1 cannot be used: env.KEY: must not hold a NUL.');
  });

  it('are no text of the host outside of the folder, and no pipe', async () => {
    put(
      'inside/list.jsonl',
      ['../secret.py', '/etc/hostname', 'link.py', 'no.py', '.', 'ok.py']
        .map((path) => JSON.stringify({ path }))
        .join('\n'),
    );
    put('secret.py', 'secret');
    put('inside/ok.py', '1');
    symlinkSync(join(folder, 'secret.py'), join(folder, 'inside/link.py'));
    const found = await all((await programsAt(join(folder, 'inside/list.jsonl'))).read());
    expect(found.map((program) => ('error' in program ? program.error.message : 'read'))).toEqual([
      'The program "../secret.py" is outside of the folder.',
      'The program "/etc/hostname" is outside of the folder.',
      'The program "link.py" is outside of the folder.',
      'The program "no.py" does not exist.',
      'The program "." is no file.',
      'read',
    ]);
  });
});

describe('programs of a folder', () => {
  it('are the files with a known ending, sorted, with their path as id', async () => {
    for (const name of ['b.py', 'a/z.mjs', 'a/b/c.sh', 'B.py', 'data.csv']) put(name, name);
    mkdirSync(join(folder, 'folder.py'));
    symlinkSync('/etc/hostname', join(folder, 'link.py'));
    const source = await programsAt(folder);
    const read = async () => (await all(source.read())).map(({ id, where }) => [id, where]);
    expect(await read()).toEqual(['B.py', 'a/b/c.sh', 'a/z.mjs', 'b.py'].map((id) => [id, '']));
    expect(await read()).toHaveLength(4);
    const [first] = await all(source.read());
    expect(first).toMatchObject({ program: { id: 'B.py', code: Buffer.from('B.py'), language: 'python' } });
  });

  it('are refused where there are none', async () => {
    put('data.csv', '');
    await expect(programsAt(folder)).rejects.toEqual(refused(expect.stringContaining('no programs')));
    await expect(programsAt(join(folder, 'no'))).rejects.toEqual(refused(expect.stringContaining('exist')));
  });
});

describe('what is still to run', () => {
  const found = (id: string, sha256: string, where = ''): FoundProgram => ({
    ...{ id, sha256, where },
    program: { code: '' },
  });

  it('is what has no result', async () => {
    const given = Readable.from([found('a', '1'), found('b', '2'), found('c', '3')]);
    const held: number[] = [];
    const left = await all(stillToRun(given, new Map([['b', '2']]), () => held.push(1)));
    expect(left.map(({ id }) => id)).toEqual(['a', 'c']);
    expect(held).toHaveLength(1);
  });

  it('is nothing where an id is there twice, or a program has changed', async () => {
    const twice = Readable.from([found('a', '1', 'line 1'), found('a', '1', 'line 9')]);
    await expect(all(stillToRun(twice, new Map()))).rejects.toEqual(
      refused('The id "a" is there twice: line 1 and line 9.'),
    );
    const changed = Readable.from([found('a', '1', 'line 4')]);
    await expect(all(stillToRun(changed, new Map([['a', '2']])))).rejects.toEqual(
      refused('The program "a" (line 4) is not the one whose result was written.'),
    );
  });
});

describe('the digest of a program', () => {
  it('is another one for whatever decides what it does, and the same however that is written', () => {
    const base: Digested = { code: 'print(1)', env: { A: '1', B: '2' }, files: { x: 'y' } };
    const same: Digested = {
      ...{ code: Buffer.from('print(1)'), language: 'python', args: [], stdin: '' },
      ...{ env: { B: '2', A: '1' }, files: { x: Buffer.from('y') } },
    };
    expect(programDigest(base)).toMatch(/^[0-9a-f]{64}$/);
    expect(programDigest(same)).toBe(programDigest(base));
    const others: Partial<Digested>[] = [
      ...[{ code: 'print(2)' }, { language: 'shell' }, { args: ['x'] }, { env: { A: '1', B: '3' } }],
      ...[{ files: { x: 'z' } }, { stdin: 'x' }, { timeout: 1 }],
    ];
    const digests = others.map((other) => programDigest({ ...base, ...other }));
    expect(new Set([...digests, programDigest(base)]).size).toBe(others.length + 1);
  });
});
