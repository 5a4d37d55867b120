import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { asProcessOwner, lifeOf, thisProcess } from './processOwner.ts';

it('knows that this process is alive, and that another of its number is not this one', () => {
  const us = thisProcess();
  expect(lifeOf(us)).toBe('alive');
  if (process.platform === 'linux') expect(lifeOf({ ...us, startTime: '1' })).toBe('dead');
  expect(lifeOf({ ...us, where: 'another host' })).toBe('elsewhere');
});

it('knows when one has ended', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  const { pid = 0 } = child;
  await once(child, 'exit');
  expect(lifeOf({ ...thisProcess(), pid })).toBe('dead');
});

it('reads what it has written, and nothing else', () => {
  const us = thisProcess();
  expect(asProcessOwner(JSON.parse(JSON.stringify(us)))).toEqual(us);
  for (const wrong of [null, 1, [], {}, { ...us, pid: 0 }, { ...us, pid: '1' }, { ...us, startTime: 1 }])
    expect(asProcessOwner(wrong)).toBeUndefined();
});
