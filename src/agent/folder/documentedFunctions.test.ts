import { expect, it } from 'vitest';
import { documentedFunctions } from './documentedFunctions.ts';

const found = (source: string) => documentedFunctions(source, 'tools.mjs');

it('finds functions that are exported by name and described right before', () => {
  const source = `
    /** First. @see nothing */
    export function first() {}
    /**
     * Second.
     * @param {string} b Text.
     * @param {string} a Text.
     */
    export const second = async (a, b = '') => a + b;
    /** Not exported. */
    function third() {}
    // Plain comment.
    export function fourth() {}
    /* No JSDoc. */
    export function fifth() {}
    /** Belongs to the constant. */
    const x = 1;
    export function sixth() {}
    /** No function. */
    export const seventh = 7;
    /** A class. */
    export class Eighth {}
    export { third };
  `;
  expect(found(source)).toEqual([
    {
      ...{ name: 'first', description: 'First. @see nothing', order: [] },
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
    },
    {
      ...{ name: 'second', description: 'Second.', order: ['a', 'b'] },
      parameters: {
        type: 'object',
        properties: {
          a: { type: 'string', description: 'Text.' },
          b: { type: 'string', description: 'Text.' },
        },
        required: ['a'],
        additionalProperties: false,
      },
    },
  ]);
});

it('refuses what is described in part, with the place', () => {
  const refusals = [
    ['/** */ export function f() {}', 'tools.mjs: f: its comment does not say what it does'],
    ['/** F. */ export function f(a) {}', 'its parameter a has no @param'],
    ['/** F.\n@param {string} a */ export function f({ a }) {}', 'something other than plain parameters'],
    ['/** F.\n@param {string} a */ export function f(...a) {}', 'something other than plain parameters'],
    ['/** F.\n@param {Date} a */ export function f(a) {}', 'the type {Date} is not one of'],
    ['export function f( {', 'tools.mjs: Unexpected token'],
  ] as const;
  for (const [source, message] of refusals)
    expect(() => found(source)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
});
