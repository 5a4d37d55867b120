import { describe, expect, it } from 'vitest';
import { evaluate, objections } from '../../../../tests/seccomp/evaluate.ts';
import { assemble, type Step } from './bpf.ts';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;

const call = (number: number): { architecture: number; number: number } => ({ architecture: 0, number });
const jumpOver = (count: number): Step[] => [
  { load: 0 },
  { is: 'equal', value: 7, ifTrue: 'seven' },
  ...Array.from({ length: count }, () => ({ return: ALLOW })),
  { label: 'seven' },
  { return: KILL },
];

describe('assemble', () => {
  it('writes struct sock_filter, little-endian', () => {
    const program = assemble([
      { load: 4 },
      { mask: 0x0f },
      { is: 'equal', value: 0x01020304, ifFalse: 'end' },
      { is: 'atLeast', value: 5, ifTrue: 'end' },
      { return: ALLOW },
      { label: 'end' },
      { return: KILL },
    ]);
    expect(Buffer.from(program).toString('hex').match(/.{16}/g)).toEqual([
      '2000000004000000',
      '540000000f000000',
      '1500000204030201',
      '3500010005000000',
      '060000000000ff7f',
      '0600000000000080',
    ]);
  });

  it('compares without a sign', () => {
    const program = assemble([
      { load: 0 },
      { is: 'atLeast', value: 0x40000000, ifTrue: 'high' },
      { return: ALLOW },
      { label: 'high' },
      { return: KILL },
    ]);
    expect([0x3fffffff, 0x40000000, -1].map((number) => evaluate(program, call(number)))).toEqual([
      'allow',
      'kill',
      'kill',
    ]);
  });

  it('reaches exactly as far as eight bits do', () => {
    const program = assemble(jumpOver(255));
    expect(objections(program)).toEqual([]);
    expect([7, 8].map((number) => evaluate(program, call(number)))).toEqual(['kill', 'allow']);
    expect(() => assemble(jumpOver(256))).toThrow('The label "seven" is 256 instructions away.');
  });

  it.each<[string, Step[], string]>([
    ['an empty program', [], 'must end with a return'],
    ['a program that runs past its end', [{ load: 0 }], 'must end with a return'],
    [
      'a label at the very end',
      [{ return: ALLOW }, { is: 'equal', value: 1, ifTrue: 'x' }, { label: 'x' }],
      'must end',
    ],
    [
      'a missing label',
      [{ is: 'equal', value: 1, ifTrue: 'nowhere' }, { return: ALLOW }],
      'no label "nowhere"',
    ],
    ['a label that stands twice', [{ label: 'x' }, { label: 'x' }, { return: ALLOW }], 'stands twice'],
    ['a loop', [{ label: 'x' }, { is: 'equal', value: 1, ifTrue: 'x' }, { return: ALLOW }], 'lies behind'],
    ['4097 instructions', Array.from({ length: 4097 }, () => ({ return: ALLOW })), 'more than 4096'],
  ])('refuses %s', (_, steps, message) => {
    expect(() => assemble(steps)).toThrow(message);
  });
});
