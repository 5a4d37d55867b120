import { expect, it } from 'vitest';
import { bearerOf, sameSecret } from './bearer.ts';

it('takes what stands behind Bearer, and nothing that is more or less than that', () => {
  const taken = ['Bearer gbx_0a_B-c', 'bearer gbx_0a_B-c', 'BEARER  gbx_0a_B-c'];
  expect(taken.map(bearerOf)).toEqual(taken.map(() => 'gbx_0a_B-c'));
  const none = [
    undefined,
    '',
    'gbx_0a_B-c',
    'Bearer',
    'Bearer ',
    'Basic Z2J4',
    'Bearer a b',
    'Bearer a, Bearer b',
    'Bearer a\n',
    'XBearer a',
    `Bearer ${'a'.repeat(513)}`,
  ];
  expect(none.map(bearerOf)).toEqual(none.map(() => undefined));
});

it('knows the same secret, of whatever length another one has', () => {
  expect(sameSecret('secret', 'secret')).toBe(true);
  expect(
    ['', 'secre', 'secreT', 'secret ', 'secretsecret'].map((other) => sameSecret('secret', other)),
  ).toEqual(Array.from({ length: 5 }, () => false));
});
