import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from './removeTree.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'remove-test-'));
});

describe('removing a tree', () => {
  it('removes links and leaves what they lead to', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-test-'));
    writeFileSync(join(outside, 'kept'), 'kept');
    symlinkSync(outside, join(folder, 'link'));
    symlinkSync(join(outside, 'kept'), join(folder, 'file-link'));
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('kept');
    await removeTree(outside);
  });

  it('removes folders that nobody may enter', async () => {
    mkdirSync(join(folder, 'a', 'b'), { recursive: true });
    writeFileSync(join(folder, 'a', 'b', 'file'), '');
    chmodSync(join(folder, 'a', 'b'), 0);
    chmodSync(join(folder, 'a'), 0);
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('removes a tree that is deeper than any path may be long', async () => {
    const name = 'd'.repeat(200);
    const start = process.cwd();
    process.chdir(folder);
    try {
      for (let depth = 0; depth < 60; depth++) {
        mkdirSync(name);
        process.chdir(name);
      }
    } finally {
      process.chdir(start);
    }
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('removes names that are no text, and many of them', async () => {
    for (let number = 0; number < 500; number++) writeFileSync(join(folder, `file ${number}\n`), '');
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), '');
    mkdirSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0x41])]));
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
  });

  it('is content with a tree that is not there', async () => {
    await removeTree(folder);
    await expect(removeTree(folder)).resolves.toBeUndefined();
  });
});
