import { expect, it } from 'vitest';
import { describeCgroups } from './describe.ts';

it('says which cgroups there are, and how to get what is missing', () => {
  expect(describeCgroups({ version: 1, controllers: new Set(['memory', 'pids', 'cpu']) }, false)).toBe(
    'cgroups of version 1, which hold memory, pids, cpu.',
  );
  expect(describeCgroups({ version: 2, controllers: new Set(['memory', 'pids']) }, false)).toMatch(
    /^cgroups of version 2, which hold memory, pids\. Not cpu: .*Delegate=yes/,
  );
  expect(describeCgroups(undefined, false)).toMatch(
    /^No cgroup can be written here.*Run as root.*Delegate=yes/,
  );
});

it('does not tell root to become root', () => {
  const said = describeCgroups(undefined, true);
  expect(said).toMatch(/^No cgroup can be written here.*mounted read-only.*docker run --memory/);
  expect(said).not.toContain('Run as root');
});
