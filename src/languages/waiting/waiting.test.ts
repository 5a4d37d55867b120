import { describe, expect, it } from 'vitest';
import { findLanguage } from '../index.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../language.ts';
import { type WaitingPlace, waitingInterpreter } from './waiting.ts';

const PLACE: WaitingPlace = {
  interpreter: '/usr/bin/it',
  file: '/workspace/main',
  preload: '/hidden',
  environment: { PATH: '/bin', LANG: 'C.UTF-8' },
  modules: [],
};

function waiting(language: LanguageName, place: Partial<WaitingPlace> = {}) {
  return waitingInterpreter(findLanguage(language), { ...PLACE, ...place });
}

describe('an interpreter that waits', () => {
  it.each(['python', 'javascript'] as const)(
    'is started as %s is for a program without arguments',
    (name) => {
      expect(waiting(name).argv).toEqual(findLanguage(name).command(PLACE.interpreter, PLACE.file, []));
    },
  );

  it('imports modules by their names, and lets nothing else into its script', () => {
    const modules = ['numpy.linalg', 'node:fs', "'] + evil() + ['"];
    expect(waiting('python', { modules }).code).toContain('wait_for_orders(["numpy.linalg","node:fs"])');
    expect(waiting('javascript', { modules }).preload).toContain('of ["numpy.linalg","node:fs"])');
  });

  it.each(LANGUAGE_NAMES)('is told nothing with its placeholder in it: %s', (name) => {
    const { argv, code = '', preload = '' } = waiting(name);
    expect([...argv, code, preload].join('\n')).not.toContain('__MODULES__');
  });
});

describe('orders', () => {
  const orders = { argv: ['a b', ''], env: { LANG: 'C.UTF-8', GREETING: 'ä' }, stdin: true };

  it('are JSON behind its length in bytes', () => {
    const encoded = Buffer.from(waiting('python').encode(orders));
    expect(encoded.readUInt32BE()).toBe(encoded.length - 4);
    expect(JSON.parse(encoded.subarray(4).toString())).toEqual(orders);
    expect(waiting('javascript').encode(orders)).toEqual(waiting('python').encode(orders));
  });

  it('are words with their number for bash: what to unset, what to set, and the command', () => {
    const fields = ['1', '1', 'PATH', '1', 'GREETING=ä', '4', '/usr/bin/it', '/workspace/main', 'a b', ''];
    const words = fields.map((field) => `${field}\0`).join('');
    expect(Buffer.from(waiting('shell').encode(orders)).toString()).toBe(words);
  });

  it('go by way of env where bash would not take a variable as it is', () => {
    const env = { ...PLACE.environment, IFS: 'x', 'A.B': '1', LC_ALL: 'nowhere', OTHER: '2' };
    const encoded = Buffer.from(waiting('shell').encode({ argv: [], env, stdin: false })).toString();
    expect(encoded.split('\0').slice(0, -1)).toEqual([
      ...['0', '0', '1', 'OTHER=2', '8'],
      ...[
        '/usr/bin/env',
        '-u',
        'SHLVL',
        'IFS=x',
        'A.B=1',
        'LC_ALL=nowhere',
        '/usr/bin/it',
        '/workspace/main',
      ],
    ]);
  });
});
