import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Folder } from '../host/folder.ts';
import { statInside } from './insideRoot.ts';

let place: string;
let root: Folder;

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'inside-root-test-'));
  mkdirSync(join(place, 'root/usr/bin'), { recursive: true });
  writeFileSync(join(place, 'root/usr/bin/program'), 'inside');
  writeFileSync(join(place, 'program'), 'on the host');
  const links = {
    bin: 'usr/bin',
    'usr/bin/absolute': '/usr/bin/program',
    'usr/bin/relative': '../../usr/./bin//program',
    'usr/bin/chain': '/bin/absolute',
    'usr/bin/above': '../../../../program',
    'usr/bin/host': join('/', 'etc/passwd'),
    'usr/bin/loop': 'loop',
    'usr/all': '/',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(place, 'root', name));
  root = Folder.open(join(place, 'root'));
});
afterAll(() => {
  root.close();
  rmSync(place, { recursive: true });
});

describe('a path in a root', () => {
  it.each(['/usr/bin/program', '/bin/program', '/bin/absolute', '/bin/relative', '/bin/chain'])(
    '%s is found as a program there would',
    (path) => {
      expect(statInside(root, path)?.size).toBe('inside'.length);
    },
  );

  it.each(['/', '/usr/all', '/..', '/usr/../../..', '/usr/all/usr/all/../..'])('%s is the root', (path) => {
    expect(statInside(root, path)?.ino).toBe(statInside(root, '/')?.ino);
    expect(statInside(root, path)?.isDirectory()).toBe(true);
  });

  it.each([
    '/bin/above',
    '/bin/host',
    '/bin/loop',
    '/bin/nothing',
    '/bin/program/.',
    '/bin/program/../program',
  ])('%s is nothing', (path) => {
    expect(statInside(root, path)).toBeUndefined();
  });
});
