import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspectPython } from './imports.ts';

const BLOCKED = new Set(['os', 'subprocess', 'a.b']);

const blockedIn = (code: string) => inspectPython(code, BLOCKED).blockedImports;
const callsIn = (code: string) =>
  inspectPython(code, BLOCKED)
    .findings.filter(({ kind }) => kind === 'dangerous_call')
    .map(({ name }) => name);

describe('Python imports that are found', () => {
  it.each([
    'import os',
    'import os.path as p',
    'import sys, os',
    'from os import path',
    'from os.path import (join, # why\n split,)',
    'from os import *',
    'import \\\n os',
    'import \\\r\n os\r\n',
    '\uFEFFimport os',
    'x = 1; import os',
    'import ｏs',
    'def f():\n  async def g():\n    import os',
    'class A:\n  try:\n    import os\n  except* E: pass',
    'if x: import os',
    'if x:\n\f  import os',
    'match x:\n  case 1: import os',
    '__import__("os")',
    '__import__(name="os")',
    '__import__("os.path").path',
    "f = lambda: __import__('o' 's')",
    '__import__("o" + "s")',
    '__import__(r"os")',
    '__import__(f"os")',
    '__import__("\\x6fs")',
    '__import__("""os""")',
    'import importlib\nimportlib.import_module("os.path")',
    'import importlib as il; il.import_module("os")',
    'from importlib import import_module as im; im("os")',
    'f = g = __import__\nf("os")',
    '(f := __import__)("os")',
    'import builtins\nbuiltins.__import__("os")',
    '__builtins__["__import__"]("os")',
    'import builtins\ngetattr(builtins, "__import__")("os")',
    '@__import__("os").x\ndef f(): pass',
    'f"{__import__(\'os\')}"',
    'f"{f"{__import__("os")}"}"',
    'x = [y for y in __import__("os").environ]',
  ])('%j', (code) => {
    expect(inspectPython(code, BLOCKED)).toMatchObject({ parsed: true, blockedImports: ['os'] });
  });
});

describe('Python that merely looks like it', () => {
  it.each([
    '# import os',
    '"import os"',
    '"""\nimport os\n"""',
    'import oslo, myos.os',
    'from . import os',
    'from .os import path',
    'import sys as os',
    '__import__(b"os")',
    '__import__(name)',
    'import importlib\nimportlib.import_module(".os", "p")',
    'f"{x}os"',
    'self.__import__("os")',
    '',
    '\n\n',
  ])('%j', (code) => {
    expect(inspectPython(code, BLOCKED)).toEqual({ parsed: true, blockedImports: [], findings: [] });
  });
});

describe('a dotted entry', () => {
  it.each(['import a.b', 'import a.b.c', 'from a import b', 'from a.b import c', '__import__("a.b")'])(
    'blocks %j',
    (code) => expect(blockedIn(code)).toEqual(['a.b']),
  );
  it.each(['import a', 'from a import c', 'import a.bc'])('leaves %j alone', (code) =>
    expect(blockedIn(code)).toEqual([]),
  );
});

describe('syntax that the grammar rejects though Python accepts it', () => {
  it.each([
    'def f():\n  yield',
    'x = 1.',
    'x = 1.if y else 2',
    'with (open(a) as f, open(b) as g):\n  pass',
    'with a as (b, c): pass',
    'with a as b.c: pass',
    '@a[0].b\ndef f(): pass',
    '@(lambda f: f)\ndef f(): pass',
    '@x if y else z\ndef f(): pass',
    'lambda a, /, b: 1',
    'for x in *a, *b: pass',
    'a[*b]',
    'def f(*args: *Ts): pass',
    'class A[T = int]: pass',
    'type X[T = int] = list[T]',
    '{y := 1}',
    'match x, y:\n  case 1: pass',
    'match x == 1:\n  case (): pass',
    'match not x:\n  case 1: pass',
    'match x:\n  case {}: pass',
    'match x:\n  case "a" "b": pass',
    "t'{x}'",
    'try: pass\nexcept A, B, C: pass',
    'print >>f, 1',
    'print and x',
    'f"{x:=5}"',
    // And some that it accepts.
    'type X = int',
    'match x:\n  case [a, *b] if c: pass',
    'def f(a, /, b, *, c): pass',
    'try: pass\nexcept* E: pass',
    "f'{x['a']}'",
    'if (n := 1): pass',
    'def f[T: int](x: T) -> T: pass',
  ])('does not hide an import beside %j', (syntax) => {
    const before = `import os\n${syntax}\n`;
    const after = `${syntax}\n\nimport os\n`;
    const inside = `def outer():\n${indented(syntax)}\n\n  import os\n`;
    expect([before, after, inside].map(blockedIn)).toEqual([['os'], ['os'], ['os']]);
  });

  const indented = (text: string) =>
    text
      .split('\n')
      .map((line) => `  ${line}`)
      .join('\n');
});

describe('Python that no interpreter accepts', () => {
  it.each([
    'print(',
    'x = [1, 2',
    'x = 1)',
    'x = (1]',
    '"abc',
    '"""abc',
    'x = "abc\\"',
    'print "abc"',
    'x = = 1',
    'x = ',
    'x = 1 +',
    'def f(:\n  pass',
    'if x print(1)',
    'if x\n  print(1)',
    'if x:\nprint(1)',
    'def f():',
    '  x = 1',
    'if x:\n    y\n  z',
    'x y z',
    'a ? b : c',
    'x\0',
    'import',
    `x = ${'('.repeat(300)}1${')'.repeat(300)}`,
  ])('is left to it, import or not: %j', (broken) => {
    expect(inspectPython(`import os\n${broken}`, BLOCKED)).toEqual({
      parsed: false,
      blockedImports: [],
      findings: [],
    });
  });
});

describe('risky calls in Python', () => {
  it.each([
    ['import os\nos.system("x")', 'os.system'],
    ['import os as o\no.popen("x")', 'os.popen'],
    ['from os import execv as e\ne("x")', 'os.execv'],
    ['__import__("os").spawnl(1)', 'os.spawnl'],
    ['import subprocess as s\ns.run([])', 'subprocess.run'],
    ['from subprocess import Popen\nPopen([])', 'subprocess.Popen'],
    ['import pickle\npickle.loads(x)', 'pickle.loads'],
    ['eval("1")', 'eval'],
    ['import builtins as b\nb.exec("1")', 'exec'],
    ['c = compile\nc("1")', 'compile'],
    ['def f():\n  return eval("1")', 'eval'],
  ])('reports %j as %s', (code, name) => {
    expect(callsIn(code)).toEqual([name]);
  });

  it.each(['def eval(x): pass\neval(1)', 'self.exec(1)', 'import re\nre.compile("a")', 'os.system("x")'])(
    'reports nothing for %j',
    (code) => {
      expect(callsIn(code)).toEqual([]);
    },
  );

  it('gives each with its line, in order', () => {
    const code = 'import os\r\n\r\nfrom subprocess import run\r\nrun([])\r\n';
    const places = inspectPython(code, BLOCKED).findings.map(({ kind, name, line }) => [kind, name, line]);
    expect(places).toEqual([
      ['blocked_import', 'os', 1],
      ['blocked_import', 'subprocess', 3],
      ['dangerous_call', 'subprocess.run', 4],
    ]);
  });
});

describe('any text at all', () => {
  it('is inspected without an exception', () => {
    const piece = fc.constantFrom(
      ...[
        'import',
        'os',
        ' ',
        '\n',
        '\t',
        '(',
        ')',
        '[',
        ']',
        '{',
        '}',
        '"',
        "'",
        'f"',
        ':',
        '=',
        ',',
        '.',
        '\\',
      ],
      ...[
        'def',
        'lambda',
        '@',
        '__import__',
        '\0',
        '\r',
        'match',
        'case',
        'from',
        'as',
        '*',
        '+',
        'é',
        '\uD800',
      ],
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (code) => {
        const { parsed, blockedImports } = inspectPython(code, BLOCKED);
        return parsed || blockedImports.length === 0;
      }),
    );
  });

  it.each([
    ['brackets', `x = ${'('.repeat(10_000)}1${')'.repeat(10_000)}`],
    ['open brackets', '['.repeat(10_000)],
    ['f-strings', 'f"{'.repeat(10_000)],
  ])('may nest deeply: %s', (_what, code) => {
    expect(inspectPython(`import os\n${code}`, BLOCKED).parsed).toBe(false);
  });

  it.each([
    ['calls', `a${'.b()'.repeat(5_000)}`],
    ['sums', `x = 1${'+1'.repeat(50_000)}`],
  ])('may be long chains: %s', (_what, code) => {
    expect(blockedIn(`import os\n${code}`)).toEqual(['os']);
  });

  it('may be a megabyte long', { timeout: 30_000 }, () => {
    expect(blockedIn(`${'x = foo(1, "a")\n'.repeat(65_000)}import os\n`)).toEqual(['os']);
  });
});
