import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspectJavaScript } from './imports.ts';

const BLOCKED = new Set(['fs', 'child_process']);

const callsIn = (code: string) =>
  inspectJavaScript(code, BLOCKED)
    .findings.filter(({ kind }) => kind === 'dangerous_call')
    .map(({ name }) => name);

describe('JavaScript imports that are found', () => {
  it.each([
    "import fs from 'fs'",
    "import 'fs'",
    "import * as x from 'node:fs'",
    "import { readFile } from 'fs/promises'",
    "export * from 'fs'",
    "export { readFile } from 'fs'",
    "await import('fs')",
    "const f = () => import('fs')",
    'import(`fs`)',
    "import('f' + 's')",
    "require('fs')",
    "if (x) { (() => require('node:fs/promises'))() }",
    "module.require('fs')",
    "require.main.require('fs')",
    "require?.('fs')",
    "const r = require; r('fs')",
    "const q = require, r = q; r('fs')",
    "import { createRequire } from 'module'; createRequire(import.meta.url)('fs')",
    "import { createRequire as c } from 'node:module'; const r = c(import.meta.url); r('fs')",
    "import m from 'module'; const require = m.createRequire('/'); require('fs')",
    "process.binding('fs')",
    "process['binding']('fs')",
    "globalThis.process?.binding('fs')",
    "process.getBuiltinModule('node:fs')",
    "const { getBuiltinModule: g } = process; g('fs')",
    "#!/usr/bin/env node\nrequire('fs')",
    "return require('fs')",
    "with (x) { require('fs') }",
    "new.target; require('fs')",
    "\uFEFFimport 'fs'",
  ])('%j', (code) => {
    expect(inspectJavaScript(code, BLOCKED)).toMatchObject({ parsed: true, blockedImports: ['fs'] });
  });
});

describe('JavaScript that merely looks like it', () => {
  it.each([
    "// import 'fs'",
    '"require(\'fs\')"',
    "import 'fs-extra'",
    "import './fs'",
    'require(name)',
    'require(`f$' + '{x}`)',
    "function require(x) {}\nrequire('fs')",
    "const require = (x) => x; require('fs')",
    "x.require('fs')",
    "({ import: 'fs' })",
    'export const fs = 1',
    '',
    '#!/usr/bin/env node',
  ])('%j', (code) => {
    expect(inspectJavaScript(code, BLOCKED)).toEqual({ parsed: true, blockedImports: [], findings: [] });
  });
});

describe('risky calls in JavaScript', () => {
  it.each([
    ["eval('1')", 'eval'],
    ["(0, eval)('1')", 'eval'],
    ["globalThis.eval('1')", 'eval'],
    ["new Function('1')", 'Function'],
    ["Function('1')()", 'Function'],
    ["process.binding('x')", 'process.binding'],
    ["import { exec as e } from 'child_process'; e('x')", 'child_process.exec'],
    ["import * as c from 'node:child_process'; c.spawnSync('x')", 'child_process.spawnSync'],
    ["const { execSync } = require('child_process'); execSync('x')", 'child_process.execSync'],
    ["require('child_process').fork('x')", 'child_process.fork'],
    ["(await import('child_process')).spawn('x')", 'child_process.spawn'],
  ])('reports %j as %s', (code, name) => {
    expect(callsIn(code)).toEqual([name]);
  });

  it.each([
    "function eval2() {}\neval2('x')",
    "const exec = (x) => x; exec('x')",
    "/a/.exec('a')",
    'x.eval(1)',
  ])('reports nothing for %j', (code) => {
    expect(callsIn(code)).toEqual([]);
  });

  it('gives each with its line, in order', () => {
    const code = "import { exec } from 'child_process';\r\n\r\nexec('x');\r\nimport 'fs';\r\n";
    const places = inspectJavaScript(code, BLOCKED).findings.map(({ kind, name, line }) => [
      kind,
      name,
      line,
    ]);
    expect(places).toEqual([
      ['blocked_import', 'child_process', 1],
      ['dangerous_call', 'child_process.exec', 3],
      ['blocked_import', 'fs', 4],
    ]);
  });
});

describe('any text at all', () => {
  it.each([
    ["import 'fs'; x = = 1"],
    ["import 'fs'; f("],
    [`require('fs'); ${'['.repeat(10_000)}`],
    [`require('fs'); x = ${'('.repeat(10_000)}1${')'.repeat(10_000)}`],
  ])('is left to the interpreter where it does not parse: %#', (code) => {
    expect(inspectJavaScript(code, BLOCKED)).toEqual({ parsed: false, blockedImports: [], findings: [] });
  });

  it('is inspected without an exception', () => {
    const piece = fc.constantFrom(
      ...[
        'import',
        'require',
        'fs',
        ' ',
        '\n',
        '(',
        ')',
        '[',
        ']',
        '{',
        '}',
        '"',
        "'",
        '`',
        '${',
        ':',
        '=',
        ',',
        '.',
      ],
      ...[
        'class',
        'constructor',
        '__proto__',
        '=>',
        '\0',
        '#',
        'const',
        'export',
        'from',
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
        const { parsed, blockedImports } = inspectJavaScript(code, BLOCKED);
        return parsed || blockedImports.length === 0;
      }),
    );
  });

  it('may hold a very long list', () => {
    expect(inspectJavaScript(`x = [${'1,'.repeat(300_000)}]; require('fs')`, BLOCKED).blockedImports).toEqual(
      ['fs'],
    );
  });

  it('may be a megabyte long', { timeout: 30_000 }, () => {
    const code = `${'x = foo(1, "a");\n'.repeat(60_000)}require('fs')`;
    expect(inspectJavaScript(code, BLOCKED).blockedImports).toEqual(['fs']);
  });
});
