import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostFolder, isHostFolder, makeHostFolder } from './folder.ts';

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
