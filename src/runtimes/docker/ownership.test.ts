import { describe, expect, it } from 'vitest';
import { isLeftOver, labelsFor, nameFor, OWNER_LABEL } from './ownership.ts';

describe('a thing at an engine', () => {
  const name = nameFor('abc123', 'p1');
  /** No process has this pid: it is larger than any kernel allows (PID_MAX_LIMIT). */
  const deadName = name.replace(/^(glovebox-\d+)-\d+/, '$1-99999999');
  const labels = labelsFor(name);
  const dead = { ...labels, [OWNER_LABEL]: deadName };

  it('stays while its process lives, and is left over when that is gone', () => {
    expect([isLeftOver(labels), isLeftOver(dead)]).toEqual([false, true]);
  });

  it('of an earlier boot of this machine is left over', () => {
    expect(isLeftOver({ ...labels, 'io.glovebox.boot': 'an earlier one' })).toBe(true);
  });

  it.each([
    ['of another machine', { ...dead, 'io.glovebox.machine': 'another' }],
    ['without our labels', { other: deadName }],
    ['with a name that only looks like one', { ...dead, [OWNER_LABEL]: 'glovebox-backup-2024' }],
    ['without labels', null],
  ])('%s is not ours to judge', (_, given) => {
    expect(isLeftOver(given as Record<string, string> | null)).toBe(false);
  });
});
