import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ownProposal, questionCopy } from './proposal.ts';
import { type Proposal, proposalHash, type Question } from './question.ts';

const proposal: Proposal = {
  operation: 'execute',
  code: { language: 'python', bytes: new Uint8Array([1, 2, 3]) },
  parameters: { list: [{ deep: [1, null, true, 'x'] }], __proto__: null },
  policy: {},
  runtime: 'local',
  sandboxId: null,
};

describe('a proposal of our own', () => {
  it('has the hash of the one that was given, and nothing of it', () => {
    const own = ownProposal(proposal);
    expect(own).toEqual(proposal);
    expect(proposalHash(own)).toBe(proposalHash(proposal));
    expect(own.code?.bytes.buffer).not.toBe(proposal.code?.bytes.buffer);
    expect(own.parameters['list']).not.toBe(proposal.parameters['list']);
  });

  it('is frozen, however deep', () => {
    const { parameters } = ownProposal(proposal);
    const [first] = parameters['list'] as { deep: unknown[] }[];
    expect(() => first?.deep.push(1)).toThrow(TypeError);
    expect(() => Object.assign(parameters, { more: 1 })).toThrow(TypeError);
  });

  it('holds the bytes of a part of a buffer, and no more', () => {
    const bytes = new Uint8Array([1, 2, 3, 4]).subarray(1, 3);
    const own = ownProposal({ ...proposal, code: { language: null, bytes } });
    expect(own.code?.bytes).toEqual(new Uint8Array([2, 3]));
    expect(own.code?.bytes.buffer.byteLength).toBe(2);
  });

  it('keeps names that mean something to JavaScript as plain members', () => {
    const parameters = JSON.parse('{"__proto__": {"network_enabled": false}, "constructor": 1}');
    const own = ownProposal({ ...proposal, parameters });
    expect(JSON.stringify(own.parameters)).toBe('{"__proto__":{"network_enabled":false},"constructor":1}');
    expect(own.parameters['network_enabled']).toBeUndefined();
    expect(proposalHash(own)).toBe(proposalHash({ ...proposal, parameters }));
  });

  it('leaves out what is undefined, as JSON does, and has no negative zero', () => {
    const own = ownProposal({ ...proposal, parameters: { a: undefined, b: -0 } });
    expect(Object.keys(own.parameters)).toEqual(['b']);
    expect(Object.is(own.parameters['b'], 0)).toBe(true);
  });

  it('may come from another realm', () => {
    const parameters = runInNewContext('({ list: [{ a: 1 }] })');
    expect(ownProposal({ ...proposal, parameters }).parameters).toEqual({ list: [{ a: 1 }] });
  });

  it('reads each value once', () => {
    let reads = 0;
    const parameters = {
      get path() {
        reads++;
        return reads === 1 ? 'harmless' : '/etc/passwd';
      },
    };
    expect(ownProposal({ ...proposal, parameters }).parameters).toEqual({ path: 'harmless' });
  });

  it.each<[string, unknown]>([
    ['a date', { at: new Date() }],
    ['a map', { map: new Map() }],
    ['bytes', { data: new Uint8Array(3) }],
    ['a function', { toJSON: () => ({}) }],
    ['no number', { n: Number.NaN }],
    ['an infinite number', { n: Number.POSITIVE_INFINITY }],
    ['a large number', { n: 10n }],
    ['a symbol', { s: Symbol('x') }],
    ['a hole', { list: [undefined] }],
    ['itself', circular()],
    ['much nesting', JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)],
  ])('is not made of one that holds %s: its hash would not say so', (_, value) => {
    const refused = expect.objectContaining({ code: 'INPUT_INVALID' });
    expect(() => ownProposal({ ...proposal, parameters: value as Proposal['parameters'] })).toThrow(refused);
    expect(() => ownProposal({ ...proposal, policy: { value } })).toThrow(refused);
  });

  it('is not made of code that is no bytes', () => {
    const code = { language: 'python', bytes: 'print(1)' as unknown as Uint8Array };
    expect(() => ownProposal({ ...proposal, code })).toThrow(/not given as bytes/);
  });
});

it("copies a question's bytes, where it has any", () => {
  const question = { ...proposal, id: 'x' } as unknown as Question;
  const copy = questionCopy(question);
  copy.code?.bytes.fill(9);
  expect(question.code?.bytes).toEqual(new Uint8Array([1, 2, 3]));
  const { code: _, ...without } = question;
  expect(questionCopy(without)).toEqual(without);
});

function circular(): object {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}
