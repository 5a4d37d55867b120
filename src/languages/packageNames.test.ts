import { describe, expect, it } from 'vitest';
import type { LanguageName } from './language.ts';
import { isPackageName } from './packageNames.ts';

const NAMES: Readonly<Record<LanguageName, { readonly good: string[]; readonly bad: string[] }>> = {
  python: {
    good: ['numpy', 'a', 'ruamel.yaml', 'requests==2.31.0', 'uvicorn[standard]', 'x>=1', 'x~=1.4', 'x==1.*'],
    bad: ['x==', 'x =='],
  },
  javascript: {
    good: ['lodash', '@scope/name', 'a@1.2.3', '@scope/a@^1.0.0-rc.1', 'a@latest'],
    bad: ['a@', '@scope', 'a/b', 'npm:a', 'user/repository', 'a@npm:b'],
  },
  shell: { good: ['jq', 'g++', 'libstdc++6', 'jq=1.6-2.1'], bad: ['jq-', 'jq=', 'jq/stable', 'Jq'] },
};

/** What a package manager would take for something else than a package of its index. */
const NEVER = [
  ...[
    '',
    '-r',
    '--index-url',
    '-e.',
    '.',
    '..',
    './a',
    '/a',
    'a b',
    ' a',
    'a\n',
    'a;b',
    'a|b',
    '$(a)',
    '`a`',
  ],
  ...['http://a.example/a', 'git+ssh://a', 'a @ file:///a', 'file:a', 'é', 'a\u0000', 'a'.repeat(201), '*'],
];

describe.each(Object.entries(NAMES))('a package for %s', (language, { good, bad }) => {
  it.each(good)('may be %s', (name) => {
    expect(isPackageName(language as LanguageName, name)).toBe(true);
  });

  it.each([...bad, ...NEVER])('may not be %j', (name) => {
    expect(isPackageName(language as LanguageName, name)).toBe(false);
  });
});
