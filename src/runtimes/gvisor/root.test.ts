import { describe, expect, it } from 'vitest';
import { givenRootSteps, hostRoot, mountTable } from './root.ts';

const HOST = {
  usr: ['/usr/bin', '/usr/lib'],
  roots: [{ path: '/bin', link: 'usr/bin' }, { path: '/lib64' }],
  etc: ['/etc/ld.so.cache', '/etc/alternatives'],
  hiddenProc: ['/proc/keys'],
};

const LOOKS = {
  isFolder: (path: string) => path === '/etc/alternatives',
  read: (path: string) => Buffer.from(`content of ${path}`),
};

describe('the root of a sandbox', () => {
  it("is the host's system folders, interpreters, links, and files of our own for the rest", () => {
    const { folders, links, files } = hostRoot(HOST, ['/root/python'], LOOKS);
    expect(folders.map(({ source, path }) => [source, path])).toEqual(
      ['/usr/bin', '/usr/lib', '/lib64', '/etc/alternatives', '/root/python'].map((path) => [path, path]),
    );
    expect(links).toEqual([{ path: '/bin', target: 'usr/bin' }]);
    expect(files.map(({ path }) => path)).toEqual([
      ...['/etc/ld.so.cache', '/etc/passwd', '/etc/group', '/etc/hosts', '/etc/nsswitch.conf'],
    ]);
    expect(String(files[0]?.data)).toBe('content of /etc/ld.so.cache');
  });
});

describe('a given root', () => {
  const paths = {
    ...{ control: '/mnt/control', root: '/mnt/control/root', given: '/mnt/control/given' },
    ...{ layer: '/mnt/control/layer', table: '/mnt/table' },
  };
  const steps = givenRootSteps('/srv/two words,a:b', paths, '/bin/mount');

  it('is the folder as a whole, read-only and without devices, under what we add', () => {
    const tables = steps.flatMap((step) =>
      'mountTable' in step ? [step.mountTable.trimEnd().split('\n')] : [],
    );
    expect(tables).toEqual([
      [
        expect.stringMatching(/^glovebox \/mnt\/control tmpfs /),
        '/srv/two\\040words,a:b /mnt/control/given none bind,ro,nosuid,nodev,X-mount.mkdir 0 0',
      ],
      [
        'glovebox /mnt/control/root overlay ro,nosuid,nodev,lowerdir=/mnt/control/layer:/mnt/control/given,X-mount.mkdir 0 0',
      ],
    ]);
    expect(steps.map((step) => Object.keys(step)[0])).toEqual([
      ...['mountTable', 'makeFolders', ...Array(5).fill('writeFile'), 'mountTable'],
    ]);
  });

  it('has a place for all that is mounted in it, and our stand-ins', () => {
    const folders = steps.flatMap((step) => ('makeFolders' in step ? step.makeFolders : []));
    const files = steps.flatMap((step) => ('writeFile' in step ? [step.writeFile] : []));
    const inside = [...folders, ...files].map((path) => path.replace(/^\/mnt\/control\/layer\//, '/'));
    expect(inside).toEqual([
      ...['/proc', '/sys', '/workspace', '/tmp', '/dev/shm', '/run/glovebox', '/etc', '/dev/net'],
      ...['/etc/passwd', '/etc/group', '/etc/hosts', '/etc/nsswitch.conf', '/dev/fuse'],
    ]);
  });
});

describe('the table of mounts', () => {
  const table = (...folders: string[]): string[] =>
    mountTable(
      { folders: folders.map((path) => ({ source: path, path })), links: [], files: [] },
      { control: '/mnt/control', root: '/mnt/control/root' },
    ).split('\n');

  it('begins with our own file system, which only root may enter, and ends with a line', () => {
    const [first = '', ...rest] = table();
    expect(first).toMatch(/^glovebox \/mnt\/control tmpfs size=\S+,mode=0700,nosuid,nodev,/);
    expect(rest).toEqual(['']);
  });

  it('shows every folder read-only, and one in another after it', () => {
    expect(table('/opt/a/b', '/opt/a').slice(1, 3)).toEqual([
      '/opt/a /mnt/control/root/opt/a none bind,ro,nosuid,nodev,X-mount.mkdir 0 0',
      '/opt/a/b /mnt/control/root/opt/a/b none bind,ro,nosuid,nodev,X-mount.mkdir 0 0',
    ]);
  });

  it('keeps a path one word, whatever is in it', () => {
    const [, line = ''] = table('/opt/two words\n/etc /x none bind');
    expect(line.split(/\s+/)).toHaveLength(6);
    expect(line).toContain('/opt/two\\040words\\012/etc');
    expect(table('/opt/#\\').at(1)).toContain('/opt/\\043\\134 ');
  });
});
