import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LANGUAGE_NAMES } from '../languages/language.ts';
import { MAX_INSPECTED_CHARACTERS } from './inspect.ts';
import { inspectCode, MAX_SIGHTS } from './inspectCode.ts';

describe('a sight', () => {
  it('says what does it, where, and why', async () => {
    expect(await inspectCode("import os\n\nos.remove('/etc/passwd')", 'python')).toEqual({
      sights: [
        {
          effect: 'deletes_files',
          name: 'os.remove',
          line: 3,
          why: 'deletes what is outside of the working folder',
          isDangerous: true,
        },
      ],
    });
  });

  it('in code in code has the line of the outer code', async () => {
    const code = `import subprocess\n\nsubprocess.run(['python3', '-c', "\\n\\nimport os\\nos.system('rm -rf /')"])`;
    const { sights } = await inspectCode(code, 'python');
    expect(sights.filter(({ isDangerous }) => isDangerous)).toMatchObject([{ name: 'rm', line: 3 }]);
  });

  it('is there once, however often the code says the same', async () => {
    const { sights } = await inspectCode("import os; os.remove('a'); os.remove('b')", 'python');
    expect(sights).toHaveLength(1);
  });

  it.each(LANGUAGE_NAMES)('that is dangerous is kept where there are too many, in %s', async (language) => {
    const [pre, harmless, dangerous] = {
      python: ['import os', 'os.remove("a")', 'os.remove("/etc/passwd")'],
      javascript: ['const fs = require("fs")', 'fs.rmSync("a")', 'fs.rmSync("/etc/passwd")'],
      shell: ['true', 'rm a', 'rm /etc/passwd'],
    }[language];
    const code = [pre, ...Array.from({ length: 3 * MAX_SIGHTS }, () => harmless), dangerous].join('\n');
    const { sights } = await inspectCode(code, language);
    expect(sights).toHaveLength(MAX_SIGHTS);
    expect(sights[0]).toMatchObject({ isDangerous: true, line: 3 * MAX_SIGHTS + 2 });
  });
});

describe('code that cannot be looked at', () => {
  it('because it is too long is said to be so', async () => {
    const code = ' '.repeat(MAX_INSPECTED_CHARACTERS + 1);
    const { sights, notInspected } = await inspectCode(code, 'python');
    expect({ sights, notInspected }).toEqual({
      sights: [],
      notInspected: `The code has ${code.length} characters; what it does is looked at up to ${MAX_INSPECTED_CHARACTERS}.`,
    });
  });

  it('because no interpreter accepts it does nothing either', async () => {
    expect(await inspectCode("import os\nos.system('rm -rf /'", 'python')).toEqual({ sights: [] });
    expect(await inspectCode("require('fs').rmSync('/'", 'javascript')).toEqual({ sights: [] });
  });

  it('because it is code in code in code is dangerous', async () => {
    let code = 'print(1)';
    for (let i = 0; i < 11; i++) code = `exec(bytes.fromhex('${Buffer.from(code).toString('hex')}'))`;
    const { sights } = await inspectCode(code, 'python');
    expect(sights.map(({ why }) => why)).toContain('holds more code in code than can be followed');
  });
});

async function effectsOf(code: string, language: (typeof LANGUAGE_NAMES)[number]): Promise<string[]> {
  const { sights } = await inspectCode(code, language);
  return sights.filter(({ isDangerous }) => isDangerous).map(({ effect }) => effect);
}

describe('a name', () => {
  it('is what it was given last, where nothing comes between', async () => {
    const code = "import shutil\npath = '/'\nprint(path)\npath = 'build'\nshutil.rmtree(path)";
    expect(await effectsOf(code, 'python')).toEqual([]);
  });

  it('is all that it may be, where it depends', async () => {
    const code = "import shutil\npath = 'build'\nif x:\n  path = '/'\nshutil.rmtree(path)";
    expect(await effectsOf(code, 'python')).toEqual(['deletes_files']);
  });

  it('in a function is not the same one as in another', async () => {
    const code =
      "const fs = require('fs');\nfunction a() { const p = '/'; return p; }\nfunction b(p) { fs.rmSync(p); }";
    expect(await effectsOf(code, 'javascript')).toEqual([]);
  });
});

describe('any text at all', () => {
  const pieces = [
    ...[
      'import os',
      'os.system',
      'eval',
      'exec',
      'require',
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
    ],
    ...['=', '+=', '+', '%', '*', '.', ',', ':', ';', '\n', ' ', '  ', 'x', 'f', 'lambda', '=>', 'def f(x):'],
    ...['for x in', 'while True:', 'function', 'return', '|', '&', '<<EOF\n', '$(', 'rm -rf /', '$x', '\0'],
    ...[
      'base64',
      '-1',
      '1e99',
      '__proto__',
      'constructor',
      '.then',
      '.join',
      '.map',
      '[::-1]',
      '\\x41',
      '\uD800',
    ],
    ...[
      'getattr',
      'class A:',
      'chr',
      'range',
      'self.x',
      'await',
      '**',
      '...',
      'new',
      'toString',
      'sh -c',
      '{a,b}',
    ],
  ];
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((list) => list.join('')),
    fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((list) => list.join(' ')),
  );

  it.each(LANGUAGE_NAMES)(
    'is inspected without an exception in %s',
    { timeout: 120_000 },
    async (language) => {
      await fc.assert(
        fc.asyncProperty(text, async (code) => {
          const { sights } = await inspectCode(code, language);
          expect(sights.length).toBeLessThanOrEqual(MAX_SIGHTS);
          expect(sights.every(({ line, name }) => line >= 1 && name.length <= 200)).toBe(true);
        }),
        { numRuns: 300 },
      );
    },
  );

  const filled = (unit: string, before = '') =>
    before + unit.repeat(Math.floor((MAX_INSPECTED_CHARACTERS - before.length) / unit.length));

  it.each([
    ['python', 'calls', filled("os.system('rm -rf /x')\n", 'import os\n')],
    ['python', 'texts that double', filled('x=x+x\n', "x='a'\n")],
    ['python', 'functions of functions', filled("def f(x): return f(f(x))+f(x)\nf('a')\n")],
    ['python', 'lists of lists', filled('[[x for x in range(50)] for y in range(50)]\n')],
    ['python', 'brackets', '('.repeat(MAX_INSPECTED_CHARACTERS)],
    ['javascript', 'calls', filled("require('child_process').execSync('rm -rf /x');\n")],
    ['javascript', 'functions of functions', filled("function f(a){return f(f(a))+f(a)}f('x');")],
    ['javascript', 'chains', filled('.then(r=>r)', 'fetch("x")')],
    [
      ...(['javascript', 'tables of tables'] as const),
      Array.from({ length: 5000 }, (_one, i) => `module.exports={...module.exports,k${i}:1};`).join(''),
    ],
    [
      ...(['javascript', 'generators of letters'] as const),
      filled('g();', `const t='${'x'.repeat(4000)}'; function* g(){${'yield* t;'.repeat(16)}}`),
    ],
    ['javascript', 'sets of letters', filled('s=new Set(t);', `let t='${'x'.repeat(4000)}',s;`)],
    ['javascript', 'brackets', '('.repeat(MAX_INSPECTED_CHARACTERS)],
    ['shell', 'loops in loops', `${'for a in 1 2 3 4 5 6 7 8; do '.repeat(60)}rm $a;${' done;'.repeat(60)}`],
    ['shell', 'texts that double', filled('x=$x$x$x;', 'x=aaaaaaaaaaaa;')],
    ['shell', 'functions of functions', filled('f;', 'f() { f; f; f; f; f; f; }; ')],
    ['shell', 'substitutions', `${'$(echo '.repeat(200)}${')'.repeat(200)}`],
    ['shell', 'brackets', '('.repeat(MAX_INSPECTED_CHARACTERS)],
  ] as const)('ends in %s: %s', { timeout: 120_000 }, async (language, _what, code) => {
    const { sights } = await inspectCode(code, language);
    expect(sights.length).toBeLessThanOrEqual(MAX_SIGHTS);
  });
});
