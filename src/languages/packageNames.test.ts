import { describe, expect, it } from 'vitest';
import type { LanguageName } from './language.ts';
import { isPackageName, parsePackage } from './packageNames.ts';

const NAMES: Readonly<Record<LanguageName, { readonly good: string[]; readonly bad: string[] }>> = {
  python: {
    good: [
      ...['numpy', 'a', 'ruamel.yaml', 'zope.interface', 'A_b-C.d', '3to2', 'x--y', 'backports.zoneinfo'],
      ...['requests==2.31.0', 'x>=1', 'x~=1.4', 'x==1.*', 'x!=1.5.*', 'x<2', 'x<=2', 'x>1', 'x==v1.0'],
      ...['x>=1,<2', 'x>=1.0,!=1.5,<2', 'x==1!2.0', 'x==1.0rc1', 'x==1.0.post1', 'x==1.0.dev3', 'x==1.0-1'],
      ...['x==1.0alpha', 'x==1.0+cpu', 'x==2.1.0+cu118.x', 'x==1.0a1.post2.dev3'],
      ...['uvicorn[standard]', 'x[a,b]', 'x[a-b,c.d]>=1,<2'],
    ],
    bad: [
      // Whitespace, which the others of pip take for several words.
      ...['x==', 'x ==', 'x == 1', 'x>=1, <2', 'x >=1', 'x[a, b]', 'x\t>=1', 'x\u00a0>=1', 'x>=1\u2003'],
      // Conditions, addresses and hashes after a name.
      ...['x;python_version<"3"', 'x>=1;os_name=="posix"', 'x@https://a.example/x.whl', 'x @ ./x', 'x@./x'],
      ...['x --hash=sha256:00', 'x#egg=y', 'x[]', 'x[a', 'x]', 'x[a,]', 'x[-a]', 'x[a]b', 'x[../a]'],
      // Not a version.
      ...[
        'x=1',
        'x===1',
        'x==*',
        'x>=1.*',
        'x==1..0',
        'x==latest',
        'x~=1',
        'x>=1,',
        'x,y',
        'x>=1<2',
        'x==1.0+',
        'x==',
      ],
      // Files, as pip sees them, in the folder where it runs.
      ...[
        'x.whl',
        'x.zip',
        'x-1.0.tar.gz',
        'x.tgz',
        'x.tar.bz2',
        'X.ZIP',
        'x==1.0+a.zip',
        'x.tar.xz',
        'x.tar',
      ],
      ...['x-', '-x', '.x', 'x.', '_x', 'x_', '@scope/name', 'x@1.0', 'x^1', 'x/y', 'C:x'],
    ],
  },
  javascript: {
    good: [
      ...[
        'lodash',
        'a',
        'is-number',
        'JSONStream',
        'lodash.merge',
        'a_b',
        '7zip',
        'a~b',
        '@scope/name',
        '@a/b.c',
      ],
      ...[
        'a@1.2.3',
        'a@^1.2.3',
        'a@~1.2',
        'a@1',
        'a@1.x',
        'a@1.2.*',
        'a@>=1.2.3',
        'a@<2',
        'a@=1.0.0',
        'a@v1.0.0',
      ],
      ...['@scope/a@^1.0.0-rc.1', 'a@1.0.0+build.5', 'a@latest', 'a@next', 'a@beta-1', 'a@v1-lts', 'a@*'],
    ],
    bad: [
      ...[
        'a@',
        '@scope',
        '@scope/',
        '@/a',
        '@scope/a/b',
        '@.scope/a',
        '@-/',
        'a/b',
        'user/repository',
        '@@a/b',
      ],
      ...[
        'npm:a',
        'a@npm:b',
        'a@npm:b@1',
        'b@npm:@scope/a',
        'alias@npm:other@^2',
        'a@workspace:*',
        'a@link:../a',
      ],
      ...[
        'github:user/x',
        'user/x#main',
        'gitlab:user/x',
        'gist:11081aaa281',
        'bitbucket:a/b',
        'a@github:user/x',
      ],
      ...[
        'a@user/repo',
        'a@git+https://a.example/a.git',
        'a@https://a.example/a.tgz',
        'a@file:../a',
        'a@../a',
      ],
      ...[
        'a@./a',
        'a@~/a',
        'a@/a',
        'a.tgz',
        'a.tar.gz',
        'a.tar',
        'a@b.tgz',
        'a@1.0.tgz',
        'A.TGZ',
        'a.tgz@1.0.0',
      ],
      ...[
        'a@1 || 2',
        'a@1||2',
        'a@>=1 <2',
        'a@1 - 2',
        'a@ 1',
        'a @1',
        'a@1.2.3.4',
        'a@..',
        'a@.',
        'a@-1',
        'a@-rc',
      ],
      ...[
        'node_modules',
        'Node_Modules',
        'favicon.ico',
        '.a',
        '_a',
        '~a',
        '-a',
        '--a',
        'a==1',
        'a,b',
        'a[b]',
      ],
    ],
  },
  shell: { good: ['jq', 'g++', 'libstdc++6', 'jq=1.6-2.1'], bad: ['jq-', 'jq=', 'jq/stable', 'Jq'] },
};

/** What a package manager would take for something else than a package of its index. */
const NEVER = [
  // Options.
  ...[
    '-r',
    '-rx',
    '-r x',
    '--requirement=x',
    '--index-url',
    '--index-url=http://a.example',
    '-ihttp://a',
    '-e.',
  ],
  ...['-e', '--pre', '--target=/', '--prefix=/', '--global', '-g', '--', '-', '--registry=http://a.example'],
  ...['--ignore-scripts=false', '\u2013r', '\u2014pre', '\u2212r'],
  // Paths.
  ...[
    '',
    '.',
    '..',
    './a',
    '../a',
    '../../a',
    '/a',
    '/workspace/a',
    '~/a',
    '\\\\a\\b',
    '.\\a',
    'a/',
    'a/../b',
  ],
  // Addresses.
  ...[
    'http://a.example/a',
    'https://a.example/a.tgz',
    'git+https://a.example/a',
    'git+ssh://a',
    'git://a.example/a',
  ],
  ...[
    'git@a.example:a/b.git',
    'ssh://a/b',
    'svn+http://a',
    'hg+http://a',
    'file:a',
    'file:///a',
    'ftp://a/a',
  ],
  ...['a @ file:///a', 'a @ https://a.example/a.whl', 'data:,a', '//a.example/a', 'a:b'],
  // What a shell would read; nobody should have to rely on there being none.
  ...[
    'a b',
    ' a',
    'a ',
    'a\n',
    '\na',
    'a\r',
    'a\tb',
    'a;b',
    'a|b',
    'a&b',
    '$(a)',
    '`a`',
    '$a',
    'a>b',
    'a<b',
    '*',
  ],
  ...["a'", 'a"', 'a\\', 'a!', 'a%20b', 'a?', 'a*', '{a,b}', '#a', 'a#b', '%', '!a'],
  // What only looks like letters, or is not seen at all.
  ...[
    'é',
    'rеquests',
    'ｎｕｍｐｙ',
    'numpy\u200b',
    '\ufeffnumpy',
    'num\u00adpy',
    '\u202enumpy',
    'ﬁle',
    'K\u212a',
  ],
  ...[
    'a\u0000',
    '\u0000',
    'a\u0000b',
    'a\u2028',
    'a\u0085',
    'a\u00a0',
    '\u3000a',
    '١',
    'a==\u0661',
    'a@\u0661',
  ],
  ...[
    'a'.repeat(201),
    `a==1${'.1'.repeat(200)}`,
    `${'@'.repeat(100)}a`,
    'a,'.repeat(5000),
    `a${'-'.repeat(100_000)}`,
  ],
];

describe.each(Object.entries(NAMES))('a package for %s', (language, { good, bad }) => {
  it.each(good)('may be %s', (name) => {
    expect(isPackageName(language as LanguageName, name)).toBe(true);
  });

  it.each([...bad, ...NEVER])('may not be %j', (name) => {
    expect(isPackageName(language as LanguageName, name)).toBe(false);
  });
});

describe('a package that may be', () => {
  it('has a name apart from what is wanted of it', () => {
    const named = (language: LanguageName, text: string) => parsePackage(language, text)?.name;
    expect(named('python', 'Ruamel.yaml[jinja2]>=0.17,<1')).toBe('Ruamel.yaml');
    expect(named('javascript', '@scope/a@^1.0.0')).toBe('@scope/a');
    expect(named('javascript', 'is-number@latest')).toBe('is-number');
    expect(named('shell', 'jq=1.6')).toBe('jq');
  });

  it('is looked at in no time, however long its repetitions', () => {
    const started = performance.now();
    for (const text of [
      `a${'.'.repeat(198)}!`,
      `a==${'1.'.repeat(98)}!`,
      `a@${'1-'.repeat(98)}!`,
      `a[${'a-'.repeat(98)}`,
    ]) {
      expect(isPackageName('python', text)).toBe(false);
      expect(isPackageName('javascript', text)).toBe(false);
    }
    expect(performance.now() - started).toBeLessThan(1000);
  });
});
