import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  isPrivateFolder,
  makePrivateFolder,
  readPrivateFile,
  whyNotBelieved,
  whyNotPrivate,
  writePrivateFile,
} from './privateFiles.ts';

const ME = 1000;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'private-test-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a folder', () => {
  const looked = (mode: number, { uid = ME, type = 'folder' } = {}) => ({
    ...{ uid, mode },
    isDirectory: () => type === 'folder',
    isSymbolicLink: () => type === 'link',
  });
  const OWN = looked(0o40700);

  it.each([
    ['in a temporary folder that everybody may write to', OWN, looked(0o41777, { uid: 0 })],
    ['in a folder of our own', OWN, looked(0o40755)],
    ["in root's", OWN, looked(0o40755, { uid: 0 })],
  ])('%s is private', (_, folder, parent) => {
    expect(whyNotPrivate(folder, parent, ME)).toBeUndefined();
  });

  it.each([
    ['it is a link', looked(0o120777, { type: 'link' }), OWN],
    ['it is not a folder', looked(0o100700, { type: 'file' }), OWN],
    ['it belongs to the user 0, not to 1000', looked(0o40700, { uid: 0 }), OWN],
    ['others may use it: its mode is 750, not 700', looked(0o40750), OWN],
    ['others may use it: its mode is 701, not 700', looked(0o40701), OWN],
    ['the folder above it belongs to the user 1001', OWN, looked(0o40755, { uid: 1001 })],
    ['everybody may rename what is in the folder above it', OWN, looked(0o40777)],
  ])('is refused because %s', (reason, folder, parent) => {
    expect(whyNotPrivate(folder, parent, ME)).toBe(reason);
  });

  it('is made with those above it, found again, and refused where it is open to others', () => {
    const path = join(root, 'a', 'b');
    expect(isPrivateFolder(path)).toBe(false);
    makePrivateFolder(path);
    makePrivateFolder(path);
    expect(isPrivateFolder(path)).toBe(true);
    expect(statSync(join(root, 'a')).mode & 0o777).toBe(0o700);
    chmodSync(path, 0o755);
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID' });
    expect(() => makePrivateFolder(path)).toThrow(refused);
    expect(() => isPrivateFolder(path)).toThrow(refused);
    writeFileSync(join(root, 'file'), '');
    expect(() => makePrivateFolder(join(root, 'file', 'below'))).toThrow(refused);
  });
});

describe('a file', () => {
  const looked = { uid: ME, mode: 0o100600, size: 10, isFile: () => true };

  it.each([
    [undefined, {}],
    [undefined, { mode: 0o100644 }],
    ['it is not a file', { isFile: () => false }],
    ['it belongs to the user 0, not to 1000', { uid: 0 }],
    ['others may write it: its mode is 620', { mode: 0o100620 }],
    ['others may write it: its mode is 602', { mode: 0o100602 }],
    ['it has 101 bytes, more than 100', { size: 101 }],
  ])('is believed, or not because %s', (reason, change) => {
    expect(whyNotBelieved({ ...looked, ...change }, 100, ME)).toBe(reason);
  });

  it('is written whole, for its owner alone, and read again', () => {
    const path = join(root, 'file');
    writePrivateFile(path, 'one');
    writePrivateFile(path, 'another');
    expect(readPrivateFile(path, 100)).toEqual({ found: 'text', text: 'another' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(root)).toEqual(['file']);
  });

  it('leaves nothing where it cannot be written', () => {
    mkdirSync(join(root, 'folder', 'full'), { recursive: true });
    expect(() => writePrivateFile(join(root, 'folder'), 'text')).toThrow();
    expect(readdirSync(root)).toEqual(['folder']);
  });

  it('takes the place of a link, and follows none', () => {
    const target = join(root, 'target');
    writeFileSync(target, 'theirs');
    const path = join(root, 'file');
    symlinkSync(target, path);
    expect(readPrivateFile(path, 100)).toEqual({ found: 'unusable', reason: 'it is a link' });
    writePrivateFile(path, 'ours');
    expect(readFileSync(target, 'utf8')).toBe('theirs');
    linkSync(target, join(root, 'hard'));
    writePrivateFile(join(root, 'hard'), 'ours');
    expect(readFileSync(target, 'utf8')).toBe('theirs');
  });

  it('that is a pipe or a folder is refused at once, and one that is missing is nothing', () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    expect(readPrivateFile(join(root, 'pipe'), 100)).toMatchObject({ found: 'unusable' });
    expect(readPrivateFile(root, 100)).toMatchObject({ found: 'unusable' });
    expect(readPrivateFile(join(root, 'missing'), 100)).toEqual({ found: 'nothing' });
    expect(readPrivateFile(join(root, 'missing', 'below'), 100)).toEqual({ found: 'nothing' });
    expect(existsSync(join(root, 'missing'))).toBe(false);
  });
});
