import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeFolders } from './makeFolders.ts';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'make-folders-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

it('makes all that is missing, with the mode, and takes what is there', () => {
  const folder = scratch();
  expect(makeFolders(join(folder, 'a/b/c'), 0o700)).toBe(join(folder, 'a'));
  expect(makeFolders(join(folder, 'a/b/c'), 0o700)).toBeUndefined();
  expect(statSync(join(folder, 'a/b')).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, 'a/b/c')).isDirectory()).toBe(true);
});

it('says what the system says, and soon, where no folder can be made', () => {
  expect(() => makeFolders('/proc/none/of/these')).toThrow(/ENOENT/);
  const file = join(scratch(), 'file');
  writeFileSync(file, '');
  expect(() => makeFolders(join(file, 'below'))).toThrow(/ENOTDIR/);
});
