import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostFolder, isHostFolder, makeHostFolder, whyNotOwn } from './folder.ts';

const ME = 1000;

function looked(mode: number, { uid = ME, type = 'folder' } = {}) {
  return {
    uid,
    mode,
    isDirectory: () => type === 'folder',
    isSymbolicLink: () => type === 'link',
  };
}

const OWN = looked(0o40700);

describe('a folder', () => {
  it.each([
    ['in a temporary folder that everybody may write to', OWN, looked(0o41777, { uid: 0 })],
    ['in a folder of our own', OWN, looked(0o40755)],
    ['in a folder of our own that a group may write to', OWN, looked(0o40775)],
    ["in root's", OWN, looked(0o40755, { uid: 0 })],
    ['where names are protected, whoever it belongs to', OWN, looked(0o41777, { uid: 65_534 })],
  ])('%s is ours alone', (_, folder, parent) => {
    expect(whyNotOwn(folder, parent, ME)).toBeUndefined();
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
    expect(whyNotOwn(folder, parent, ME)).toBe(reason);
  });
});

describe('the place', () => {
  it("is the user's runtime folder, where that is theirs and is there", () => {
    const own = realpathSync(mkdtempSync(join(tmpdir(), 'runtime-folder-')));
    onTestFinished(() => rmSync(own, { recursive: true }));
    const user = process.getuid?.() ?? 0;
    const otherwise = join(tmpdir(), `glovebox-${user}`);
    expect(hostFolder(own, user)).toBe(join(own, 'glovebox'));
    expect(hostFolder(own, user + 1)).toBe(join(tmpdir(), `glovebox-${user + 1}`));
    expect(hostFolder(join(own, 'missing'), user)).toBe(otherwise);
    expect(hostFolder('relative', user)).toBe(otherwise);
    expect(hostFolder(undefined, user)).toBe(otherwise);
  });

  it('is made, found again, and refused where it is open to others', () => {
    const root = mkdtempSync(join(tmpdir(), 'runtime-folder-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const path = join(root, 'glovebox');
    expect(isHostFolder(path)).toBe(false);
    makeHostFolder(path);
    makeHostFolder(path);
    expect(isHostFolder(path)).toBe(true);
    const open = join(root, 'open');
    mkdirSync(open, { mode: 0o755 });
    const refused = expect.objectContaining({ code: 'CONFIG_INVALID' });
    expect(() => makeHostFolder(open)).toThrow(refused);
    expect(() => isHostFolder(open)).toThrow(refused);
  });
});
