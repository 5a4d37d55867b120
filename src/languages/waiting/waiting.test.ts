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
    const text = JSON.stringify('wait_for_orders(["numpy.linalg","node:fs"])').slice(1, -1);
    expect(waiting('python', { modules }).code).toContain(text);
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
    const encoded = Buffer.from(waiting('javascript').encode(orders));
    expect(encoded.readUInt32BE()).toBe(encoded.length - 4);
    expect(JSON.parse(encoded.subarray(4).toString())).toEqual(orders);
  });

  it.each([
    ['filled up to a block', 'x', 4096],
    ['longer than one', 'x'.repeat(5000), 5087],
  ])('are the same for Python, %s', (_how, code, length) => {
    const encoded = Buffer.from(waiting('python').encode({ ...orders, code }));
    const unfilled = Buffer.from(waiting('javascript').encode({ ...orders, code }));
    expect(encoded).toEqual(Buffer.concat([unfilled, Buffer.alloc(length - unfilled.length)]));
  });

  it('have what the kernel would have of half a surrogate pair', () => {
    const halves = { argv: ['\ud800'], env: { A: '\udfffz' }, stdin: true, files: [['\ud83d', 1]] } as const;
    const encoded = Buffer.from(waiting('javascript').encode(halves));
    expect(JSON.parse(encoded.subarray(4).toString())).toEqual({
      ...{ argv: ['\ufffd'], env: { A: '\ufffdz' }, stdin: true, files: [['\ufffd', 1]] },
    });
  });

  it('are words with their number for bash: what to unset, what to set, and the command', () => {
    const fields = ['1', '1', 'PATH', '1', 'GREETING=ä', '4', '/usr/bin/it', '/workspace/main', 'a b', ''];
    const words = fields.map((field) => `${field}\0`).join('');
    expect(Buffer.from(waiting('shell').encode(orders)).toString()).toBe(words);
  });

  it('say to bash where the input is: nowhere, behind them, in a file, or to be put into one', () => {
    const inputs = [false, true, '/tmp/input', { bytes: 7 }].map((stdin) => {
      const encoded = Buffer.from(waiting('shell').encode({ ...orders, stdin })).toString();
      return encoded.slice(0, encoded.indexOf('\0'));
    });
    expect(inputs).toEqual(['0', '1', '/tmp/input', '7 bytes']);
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
