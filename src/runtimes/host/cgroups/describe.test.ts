import { expect, it } from 'vitest';
import { describeCgroups } from './describe.ts';

it('says which cgroups there are, and how to get what is missing', () => {
  expect(describeCgroups({ version: 1, controllers: new Set(['memory', 'pids', 'cpu']) })).toBe(
    'cgroups of version 1, which hold memory, pids, cpu.',
  );
  expect(describeCgroups({ version: 2, controllers: new Set(['memory', 'pids']) })).toMatch(
    /^cgroups of version 2, which hold memory, pids\. Not cpu: .*Delegate=yes/,
  );
  expect(describeCgroups(undefined)).toMatch(/^No cgroup can be written here.*Delegate=yes/);
});
