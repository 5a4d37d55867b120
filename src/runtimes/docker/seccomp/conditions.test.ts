import { describe, expect, it } from 'vitest';
import { type Condition, comparisons } from './conditions.ts';

const LOW = 0xffffffff;
const HIGH = 0xdeadbeef_00000000n;

/** What an engine makes of the lists: one of them, and each of its comparisons. */
function holds(conditions: readonly Condition[], values: readonly bigint[]): boolean {
  return comparisons(conditions).some((list) =>
    list.every(
      ({ index, value, valueTwo }) =>
        (BigInt.asUintN(64, values[index] ?? 0n) & BigInt(value)) === BigInt(valueTwo),
    ),
  );
}

describe('comparisons', () => {
  it('writes one list for each value', () => {
    expect(comparisons([{ argument: 3, oneOf: [7, 9] }])).toEqual([
      [{ index: 3, value: LOW, valueTwo: 7, op: 'SCMP_CMP_MASKED_EQ' }],
      [{ index: 3, value: LOW, valueTwo: 9, op: 'SCMP_CMP_MASKED_EQ' }],
    ]);
  });

  it('writes one list for each combination of values', () => {
    const lists = comparisons([
      { argument: 0, oneOf: [2, 10] },
      { argument: 1, mask: 0xf, oneOf: [1, 5] },
    ]);
    expect(lists.map((list) => list.map(({ index, value, valueTwo }) => [index, value, valueTwo]))).toEqual(
      [
        [2, 1],
        [2, 5],
        [10, 1],
        [10, 5],
      ].map(([family, type]) => [
        [0, LOW, family],
        [1, 0xf, type],
      ]),
    );
  });

  it('writes "none of these" as the branches that they do not lie in', () => {
    const lists = comparisons([{ argument: 1, mask: 0b111, noneOf: [0b010, 0b011] }]);
    expect(lists.flat().map(({ value, valueTwo }) => [value, valueTwo])).toEqual([
      [0b110, 0b000],
      [0b100, 0b100],
    ]);
  });

  it('lets through all but the values, whatever the high half is', () => {
    const noneOf = [0x5412, 0x541c, 0x5423, 0xffffffff] as const;
    const near = noneOf.flatMap((value) =>
      Array.from({ length: 32 }, (_, bit) => (value ^ (1 << bit)) >>> 0),
    );
    const samples = [...new Set([...noneOf, ...near, 0, 1, 0x5401, 0x80045430])];
    const through = samples.filter((low) =>
      [BigInt(low), BigInt(low) | HIGH, BigInt.asIntN(32, BigInt(low))].some((value) =>
        holds([{ argument: 1, noneOf }], [0n, value]),
      ),
    );
    expect(through).toEqual(samples.filter((low) => !(noneOf as readonly number[]).includes(low)));
  });

  it('takes a mask that JavaScript made negative for what it is', () => {
    expect(comparisons([{ argument: 0, mask: ~0xff, oneOf: [0] }]).flat()).toMatchObject([
      { value: 0xffffff00, valueTwo: 0 },
    ]);
  });

  it('refuses two conditions on one argument, which an engine would take for a choice', () => {
    const twice: Condition[] = [
      { argument: 1, oneOf: [1] },
      { argument: 1, mask: 1, oneOf: [1] },
    ];
    expect(() => comparisons(twice)).toThrow('Two conditions on one argument');
  });
});
