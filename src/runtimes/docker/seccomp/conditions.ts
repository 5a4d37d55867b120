import type { Rule } from '../../host/seccomp/filter.ts';

/** The floor's claim about the low half of one argument. */
export type Condition = NonNullable<Rule['unless']>[number][number];

/** One comparison as Docker writes it: this argument, kept to the bits of `value`, equals `valueTwo`. */
export interface DockerSeccompArgument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo: number;
  readonly op: 'SCMP_CMP_MASKED_EQ';
}

/**
 * The low half. No other comparison of Docker's leaves out the high half, and with one that does not, a
 * program puts something there and is judged by another number than the kernel's.
 */
const LOW_HALF = 0xffffffff;

const BITS = Array.from({ length: 32 }, (_, index) => 2 ** (31 - index));

/** Lists of comparisons of which at least one holds in full exactly when every condition holds. */
export function comparisons(conditions: readonly Condition[]): DockerSeccompArgument[][] {
  const indexes = conditions.map(({ argument }) => argument);
  if (new Set(indexes).size !== indexes.length) {
    // An engine takes two comparisons of one argument for "the one or the other".
    throw new RangeError('Two conditions on one argument cannot be told to an engine.');
  }
  return conditions.reduce<DockerSeccompArgument[][]>(
    (lists, condition) => lists.flatMap((list) => alternatives(condition).map((one) => [...list, one])),
    [[]],
  );
}

function alternatives(condition: Condition): DockerSeccompArgument[] {
  const mask = (condition.mask ?? LOW_HALF) >>> 0;
  const matches =
    'oneOf' in condition
      ? condition.oneOf.map((value) => ({ mask, value }))
      : outside(condition.noneOf, mask);
  return matches.map(({ mask, value }) => ({
    index: condition.argument,
    value: mask,
    valueTwo: value,
    op: 'SCMP_CMP_MASKED_EQ',
  }));
}

interface Match {
  readonly mask: number;
  readonly value: number;
}

/**
 * All numbers but these, as an engine can be told it: bit by bit from the top, each branch of the tree that
 * none of the values lies in is one match. (Two comparisons with "not equal" would be OR-ed and always hold.)
 */
function outside(values: readonly number[], mask: number): Match[] {
  const branch = (inside: readonly number[], [bit, ...lower]: readonly number[], match: Match): Match[] => {
    if (inside.length === 0) return [match];
    if (bit === undefined) return [];
    return [0, bit].flatMap((set) =>
      branch(
        inside.filter((value) => (value & bit) >>> 0 === set),
        lower,
        { mask: match.mask + bit, value: match.value + set },
      ),
    );
  };
  return branch(
    values,
    BITS.filter((bit) => (mask & bit) !== 0),
    { mask: 0, value: 0 },
  );
}
