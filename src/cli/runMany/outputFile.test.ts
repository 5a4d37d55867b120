import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { thisProcess } from '../../files/processOwner.ts';
import { OutputFile } from './outputFile.ts';

it('is taken by one alone of many that find what a killed process left', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'output-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'results.jsonl');
  const dead = { ...thisProcess(), pid: spawnSync('true').pid };
  for (let round = 0; round < 20; round++) {
    await writeFile(`${path}.lock`, JSON.stringify(dead));
    const takes = await Promise.allSettled(
      Array.from({ length: 8 }, () => OutputFile.take(path, { resume: true })),
    );
    const taken = takes.flatMap((take) => (take.status === 'fulfilled' ? [take.value] : []));
    const refused = takes.flatMap((take) => (take.status === 'rejected' ? [take.reason] : []));
    expect(taken).toHaveLength(1);
    for (const reason of refused)
      expect(reason).toMatchObject({ code: 'INPUT_INVALID', message: /Another run-many/ });
    for (const file of taken) await file[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
  }
});

it('is free again at the second try when one was killed while it took over from another', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'output-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'results.jsonl');
  const dead = JSON.stringify({ ...thisProcess(), pid: spawnSync('true').pid });
  await writeFile(`${path}.lock`, dead);
  await writeFile(`${path}.lock.breaking`, dead);
  await expect(OutputFile.take(path, { resume: true })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  const file = await OutputFile.take(path, { resume: true });
  await file[Symbol.asyncDispose]();
  expect(await readdir(folder)).toEqual([]);
});

it('stays the one’s who takes over from a dead one just now', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'output-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'results.jsonl');
  await writeFile(`${path}.lock`, JSON.stringify({ ...thisProcess(), pid: spawnSync('true').pid }));
  await writeFile(`${path}.lock.breaking`, JSON.stringify(thisProcess()));
  for (let tries = 0; tries < 2; tries++)
    await expect(OutputFile.take(path, { resume: true })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
