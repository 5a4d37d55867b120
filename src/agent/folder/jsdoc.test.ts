import { expect, it } from 'vitest';
import { readJsDoc, schemaOfType } from './jsdoc.ts';

it('reads the description, and parameters with their types', () => {
  const comment = `*
 * Finds things,
 * quickly.
 * @param {string} query What to look for,
 *   in words.
 * @param {number} [limit=10] - How many.
 * @param {boolean=} strict
 * @returns {string} text
 `;
  expect(readJsDoc(comment)).toEqual({
    description: 'Finds things,\nquickly.',
    parameters: [
      {
        name: 'query',
        schema: { type: 'string', description: 'What to look for, in words.' },
        isOptional: false,
      },
      { name: 'limit', schema: { type: 'number', description: 'How many.' }, isOptional: true },
      { name: 'strict', schema: { type: 'boolean' }, isOptional: true },
    ],
  });
});

it('knows simple types, lists and choices, and refuses others', () => {
  const list = (items: object) => ({ type: 'array', items });
  expect(schemaOfType('string[]')).toEqual(list({ type: 'string' }));
  expect(schemaOfType('Array<number[]>')).toEqual(list(list({ type: 'number' })));
  expect(schemaOfType('(string|number)[]')).toEqual(
    list({ anyOf: [{ type: 'string' }, { type: 'number' }] }),
  );
  expect(schemaOfType('string|number[]')).toEqual({ anyOf: [{ type: 'string' }, list({ type: 'number' })] });
  expect(schemaOfType(`'asc'|"desc"`)).toEqual({ enum: ['asc', 'desc'] });
  expect(schemaOfType('1|2')).toEqual({ enum: [1, 2] });
  expect(schemaOfType('*')).toEqual({});
  for (const type of ['Date', '', 'toString', 'Map<string, number>', 'string|Date'])
    expect(() => schemaOfType(type)).toThrow(/is not one of/);
});

it('refuses a parameter that it cannot read', () => {
  expect(() => readJsDoc('* Does.\n * @param query text\n')).toThrow(/is not written as/);
});
