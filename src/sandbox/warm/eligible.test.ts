import { describe, expect, it } from 'vitest';
import { javascript } from '../../languages/javascript.ts';
import type { LanguageName } from '../../languages/language.ts';
import { python } from '../../languages/python.ts';
import { shell } from '../../languages/shell.ts';
import { type Candidate, whyCold } from './eligible.ts';

const LANGUAGES = { python, javascript, shell };

function candidate(
  language: LanguageName,
  program: Partial<Candidate['program']> = {},
  rest: Partial<Candidate> = {},
): Candidate {
  const run = { code: new Uint8Array(), language: LANGUAGES[language] };
  return {
    program: { run, args: [], env: {}, files: {}, collect: [], ...program },
    ...{ network: 'none', preload: [] },
    ...rest,
  };
}

const file = (path: string) => ({ files: { [path]: new Uint8Array() } });
const variable = (name: string) => ({ env: { [name]: 'x' } });

describe('whyCold', () => {
  it.each(['python', 'javascript', 'shell'] as const)('lets code in %s wait', (language) => {
    const program = { args: ['a', '--b'], env: { API_URL: 'x', lower: '' }, ...file('data/table.csv') };
    expect(whyCold(candidate(language, program))).toBeUndefined();
    expect(whyCold(candidate(language, {}, { network: 'open' }))).toBeUndefined();
  });

  it('sends a command, a relay, files to collect and limits of its own to a cold start', () => {
    expect([
      whyCold(candidate('python', { run: { command: ['true'] } })),
      whyCold(candidate('python', {}, { network: 'allowlist' })),
      whyCold(candidate('python', { collect: ['a'] })),
      whyCold(candidate('python', { limits: { memoryMb: 1 } })),
    ]).toEqual([
      'it is a command',
      'its network needs a relay',
      'files are collected',
      'it has limits of its own',
    ]);
  });

  it.each([
    [
      'python',
      ['PYTHONPATH', 'PYTHONHASHSEED', 'LD_PRELOAD', 'LC_ALL', 'LANG', 'TZ', 'HOME', 'OMP_NUM_THREADS'],
    ],
    [
      'javascript',
      ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'UV_THREADPOOL_SIZE', 'SSL_CERT_FILE', 'FORCE_COLOR'],
    ],
    [
      'shell',
      ['BASH_ENV', 'BASH_FUNC_ls%%', 'SHELLOPTS', 'ENV', 'IFS', 'PATH', 'MALLOC_ARENA_MAX', 'GLIBC_TUNABLES'],
    ],
  ] as const)('knows what %s reads when it starts', (language, names) => {
    for (const name of names) {
      expect(whyCold(candidate(language, variable(name)))).toBe(`${name} is read at the start`);
    }
  });

  it('knows the variables of one interpreter from those of another', () => {
    expect(whyCold(candidate('javascript', variable('PYTHONPATH')))).toBeUndefined();
    expect(whyCold(candidate('python', variable('NODE_OPTIONS')))).toBeUndefined();
  });

  it.each([
    ...[
      '.local/lib/python3.11/site-packages/x.pth',
      'pyvenv.cfg',
      './json.py',
      '/workspace/random.py',
      'a/../re.py',
    ],
    ...['email/__init__.py', '_json.so', 'typing.cpython-311.so', '../x', '/elsewhere/x', 'python311.zip'],
  ])('sends Python with the file %s to a cold start', (path) => {
    expect(whyCold(candidate('python', file(path)))).toBe('a file is looked for at the start');
    expect(whyCold(candidate('javascript', file(path)))).toBeUndefined();
  });

  it.each(['helpers.py', 'package/json.py', 'json.txt', 'data.json', 'table.csv'])(
    'lets Python with the file %s wait',
    (path) => {
      expect(whyCold(candidate('python', file(path)))).toBeUndefined();
    },
  );

  it('takes nothing that a module might look for while it is loaded', () => {
    const preload = { preload: ['pandas'] };
    expect(whyCold(candidate('python', variable('API_URL'), preload))).toBe(
      'variables come after what is loaded',
    );
    expect(whyCold(candidate('python', file('helpers.py'), preload))).toBe(
      'a file is looked for at the start',
    );
    expect(whyCold(candidate('python', file('table.csv'), preload))).toBeUndefined();
  });

  it('leaves it to a cold start to refuse what is too long', () => {
    const long = 'x'.repeat(200_000);
    expect([
      whyCold(candidate('python', { args: [long] })),
      whyCold(candidate('python', { env: { A: long } })),
      whyCold(candidate('python', { args: Array.from({ length: 20 }, () => 'x'.repeat(100_000)) })),
      whyCold(candidate('python', { args: ['x'.repeat(100_000)] })),
    ]).toEqual([...Array(3).fill('its arguments may be too long for a start'), undefined]);
  });
});
