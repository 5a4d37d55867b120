import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDone, readResult } from './contextMessages.ts';

const message = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe('how a cell ended', () => {
  it('is its exit code and its error', () => {
    expect(readDone(message({ exitCode: 0 }))).toEqual({ exitCode: 0 });
    const error = { name: 'ValueError', value: 'no', traceback: 'Traceback' };
    expect(readDone(message({ exitCode: 1, error }))).toEqual({ exitCode: 1, error });
  });

  it.each([
    ['nothing', null],
    ['no JSON', Buffer.from('{')],
    ['no object', message([])],
    ['no exit code', message({})],
    ['an exit code that is none', message({ exitCode: '0' })],
    ['a fraction', message({ exitCode: 0.5 })],
    ['a negative exit code', message({ exitCode: -1 })],
    ['an exit code that no process has', message({ exitCode: 256 })],
  ])('is not believed to be a success: %s', (_, payload) => {
    expect(readDone(payload)).toMatchObject({ exitCode: 1, error: { name: 'MalformedAnswer' } });
  });

  it('keeps what an error says within bounds', () => {
    const { error } = readDone(
      message({ exitCode: 1, error: { name: 'x'.repeat(1e6), value: 3, traceback: '\ud800' } }),
    );
    expect(error?.name.length).toBe(200);
    expect(error?.value).toBe('');
    expect(error?.traceback).toBe('\ufffd');
  });
});

describe('a result', () => {
  it('has the forms that it came with', () => {
    const result = {
      ...{ type: 'result', text: '1', html: '<b>', json: [1], markdown: '*', latex: '$', svg: '<svg>' },
      ...{ png: 'YWJj', jpeg: 'YQ==', extra: { 'application/x-a': 1 }, notes: ['n'] },
    };
    expect(readResult(message(result))).toEqual(result);
  });

  it('has nothing else', () => {
    const { __proto__: _, ...odd } = JSON.parse(
      '{"type":"other","text":1,"png":"not base64!","json":null,"more":2,"extra":{"__proto__":1,"a/b":2},"notes":[3]}',
    );
    expect(readResult(message(odd))).toEqual({
      type: 'display',
      json: null,
      extra: { 'a/b': 2 },
      notes: ['png was left out: it is not base64.'],
    });
  });

  it('is none when it is nested so deeply that nobody could write it out', () => {
    const deep = (depth: number) => Buffer.from(`{"json":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(readResult(deep(99))).toBeDefined();
    expect(readResult(deep(100_000))).toBeUndefined();
    // Brackets in a text are text.
    expect(readResult(message({ text: '[{\\"'.repeat(1000) }))).toBeDefined();
  });

  it('is something that can be written out again, or nothing, for any bytes', () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
      fc.jsonValue().map((json) => message({ json })),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        JSON.stringify(readResult(Buffer.from(input)));
        JSON.stringify(readDone(Buffer.from(input)));
      }),
    );
  });
});
