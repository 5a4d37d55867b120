import { describe, expect, it } from 'vitest';
import { selectRows } from './selectRows.ts';

const rows = [
  { name: 'local.python.cold' },
  { name: 'local.python.warm' },
  { name: 'bubblewrap.python.warm' },
  { name: 'bubblewrap.python.warm.large_host' },
  { name: 'bubblewrap.python.warm.idle_1000', onlyFull: true },
] as const;

const chosen = (only: readonly string[], full = false): string[] =>
  selectRows(rows, { only, full }).map(({ name }) => name);

describe('the rows that are meant', () => {
  it('are all of them where nothing is named, those of a full run only in one', () => {
    expect(chosen([])).toHaveLength(4);
    expect(chosen([], true)).toHaveLength(5);
  });

  it.each([
    ['a name, and not what goes on behind it', ['bubblewrap.python.warm'], ['bubblewrap.python.warm']],
    [
      'the beginning of names, up to a dot',
      ['bubblewrap'],
      ['bubblewrap.python.warm', 'bubblewrap.python.warm.large_host'],
    ],
    [
      'a pattern',
      ['*.warm'],
      ['local.python.warm', 'bubblewrap.python.warm', 'bubblewrap.python.warm.large_host'],
    ],
    [
      'a name that only a full run has',
      ['bubblewrap.python.warm.idle_1000'],
      ['bubblewrap.python.warm.idle_1000'],
    ],
    [
      'several, each once and in the order of the table',
      ['*.warm', 'local', 'local.python.cold'],
      [
        ...['local.python.cold', 'local.python.warm', 'bubblewrap.python.warm'],
        'bubblewrap.python.warm.large_host',
      ],
    ],
  ])('are named by %s', (_, only, names) => {
    expect(chosen(only)).toEqual(names);
  });

  it.each(['local.pyth', 'nothing', '', 'local?python?cold'])('are never guessed: %j', (pattern) => {
    expect(() => chosen([pattern])).toThrow(/no row called/);
  });
});
