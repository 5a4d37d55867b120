import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { rewriteCell } from './javascriptCell.ts';

/** Runs cells as the kernel does, but for what it shows; resolves to the value of the last one. */
async function runCells(...cells: string[]): Promise<unknown> {
  return (await lastOf(...cells)).value;
}

/** The same in an object, since a promise cannot resolve to a promise. */
async function lastOf(...cells: string[]): Promise<{ value: unknown }> {
  const globals: Record<string, unknown> = createContext({
    __glovebox_import: async (specifier: string) => ({
      default: `default of ${specifier}`,
      named: `named of ${specifier}`,
    }),
    later: (value: unknown) => new Promise((resolve) => setTimeout(resolve, 1, value)),
  });
  runInContext('globalThis', globals);
  let value: unknown;
  for (const cell of cells) {
    const { code, isAsync, wantsValue, names } = rewriteCell(cell);
    for (const name of names) if (!(name in globals)) globals[name] = undefined;
    value = runInContext(code, globals);
    if (isAsync) value = ((await value) as { value: unknown } | undefined)?.value;
    if (!wantsValue) value = undefined;
  }
  return { value };
}

describe('declarations at the top', () => {
  it.each([
    ['const', 'const a = 1', 'a', 1],
    ['let without a value', 'let a', 'typeof a', 'undefined'],
    ['a pattern', 'const { a, b: [c], ...d } = { a: 1, b: [2], e: 3 }', '[a, c, d.e]', [1, 2, 3]],
    ['a class', 'class A { x = 1 }', 'new A().x', 1],
    ['a function', 'function f() { return 1 }', 'f()', 1],
    ['var in a block', '{ var a = 1 }', 'a', 1],
    ['after await', 'const a = await later(1), b = a + 1', '[a, b]', [1, 2]],
    ['a pattern after await', 'const { a, b: [c] } = await later({ a: 1, b: [2] })', '[a, c]', [1, 2]],
    ['a class beside await', 'await 1; class A { x = 1 }', 'new A().x', 1],
    ['a function beside await', 'await 1; function f() { return 1 }', 'f()', 1],
    ['var in branches', 'if (await 0) var a = 1; else var a = 2', 'a', 2],
    ['var in the head of a loop', 'for (var i = 0, n = await later(3); i < n; i++);', 'i', 3],
    ['var in for-of', 'for (var { x } of [{ x: 1 }, await later({ x: 2 })]);', 'x', 2],
    [
      'without semicolons',
      'const f = () => 1\nconst a = f()\nawait later(1)\nconst b = [a]',
      '[a, b[0]]',
      [1, 1],
    ],
  ])('stay for the next cell: %s', async (_, cell, question, answer) => {
    expect(JSON.stringify(await runCells(cell, question))).toBe(JSON.stringify(answer));
  });

  it('can be made again', async () => {
    expect(await runCells('const a = 1; class B {}', 'const a = 2; class B {}', 'let a = 3', 'a')).toBe(3);
    expect(await runCells('const a = await 1', 'const a = await 2; a')).toBe(2);
  });

  it('are the very ones that functions of the same cell see', async () => {
    expect(await runCells('let n = await 0; const more = () => ++n', 'more(); more()', 'n')).toBe(2);
  });

  it('in a block or a function stay there', async () => {
    expect(
      await runCells(
        'await 1; { const a = 1 } for (let b of [1]); (() => { var c = 1 })()',
        'typeof a + typeof b + typeof c',
      ),
    ).toBe('undefinedundefinedundefined');
  });

  it('give functions and classes their names', async () => {
    expect(await runCells('await 1; const f = () => {}; class A {}', 'f.name + A.name')).toBe('fA');
  });
});

describe('the value', () => {
  it.each([
    ['1 + 1', 2],
    ['1 + 1;', 2],
    ['await later(3) // why', 3],
    ['const a = 1', undefined],
    ['1; if (true) { 2 }', undefined],
    ['function f() {}', undefined],
    ['', undefined],
    ["'use strict'", undefined],
  ])('of %j is %j', async (cell, value) => {
    expect(await runCells(cell)).toBe(value);
  });

  it('of what looks like an object is one', async () => {
    expect(await runCells('{ a: 1 }')).toEqual({ a: 1 });
    expect(await runCells('{ let x = 1; x }')).toBeUndefined();
  });

  it('that is a promise is not waited for, unless it says so', async () => {
    for (const cell of ['later(1)', 'await 1; later(1)']) {
      expect((await lastOf(cell)).value).toHaveProperty('then');
    }
  });
});

describe('imports', () => {
  it('are declarations like others', async () => {
    const all = await runCells(
      "import one, { named as two } from 'm'\nimport * as three from 'n'\nimport 'o'",
      'JSON.stringify([one, two, three.named])',
    );
    expect(all).toBe(JSON.stringify(['default of m', 'named of m', 'named of n']));
  });

  it('can be made on the way', async () => {
    expect(await runCells("(await import('m')).named")).toBe('named of m');
  });
});

it('keeps the lines of the cell where they are', () => {
  const cell = 'import {\n  a,\n  b\n} from "m"\nconst c = await 1\nfail()';
  const lines = rewriteCell(cell).code.split('\n');
  expect(lines.findIndex((line) => line.includes('fail()'))).toBe(5);
});

it('leaves to the interpreter what it cannot read', () => {
  expect(rewriteCell('const = 3')).toMatchObject({ code: 'const = 3', isAsync: false, names: [] });
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  expect(rewriteCell(deep).code).toBe(deep);
});
