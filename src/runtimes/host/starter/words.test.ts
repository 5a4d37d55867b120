import { describe, expect, it } from 'vitest';
import type { LaunchStep } from '../launcher.ts';
import { beginningWords, orderBytes } from './words.ts';

describe('what a launcher of ours does at once', () => {
  it('makes its namespaces first', () => {
    const steps: LaunchStep[] = [
      { mountMemory: '/mnt', options: 'size=1k,mode=0755,nosuid,nodev', with: '/bin/mount' },
      { bind: '/opt/python', at: '/mnt/prefixes/0', with: '/bin/mount' },
      { pipeInput: true },
    ];
    const words = ['memory', 'size=1k,mode=0755', '/mnt', 'bind', '/opt/python', '/mnt/prefixes/0', 'pipe'];
    expect(beginningWords('nothing', steps)).toEqual(words);
    expect(beginningWords('mounts', steps)).toEqual(['namespaces', 'mount', ...words]);
    expect(beginningWords('user and mounts', steps)).toEqual(['namespaces', 'user', ...words]);
  });

  it('is left to bash where only that can do it', () => {
    expect(beginningWords('mounts', [{ mountTable: 'x', file: '/f', with: '/bin/mount' }])).toBeUndefined();
    expect(beginningWords('mounts', [{ makeFolders: ['/a'] }])).toBeUndefined();
  });
});

describe('its orders', () => {
  /** The counts, and all words. */
  function read(bytes: Buffer): { counts: number[]; words: string[] } {
    const [length = 0, ...counts] = [0, 4, 8, 12].map((offset) => bytes.readUInt32LE(offset));
    expect(bytes.length).toBe(16 + length);
    return { counts, words: bytes.toString('utf8', 16).split('\0').slice(0, -1) };
  }

  it('hold steps, the program and its variables', () => {
    const orders = {
      steps: [
        { pipeInputFor: '5:6' },
        { joinCgroup: '/cgroup/tasks' },
        { limit: 'fileSizeKb', value: 3 },
        { limit: 'cpuSec', value: 4 },
        { openFile: '/mnt/seccomp', as: 7 },
      ] satisfies LaunchStep[],
      user: { uid: 8, gid: 9, with: '/bin/nsenter' },
      program: ['/bin/ü', ''],
    };
    const { counts, words } = read(orderBytes(orders, { PATH: '/bin' }));
    const steps = [
      'owner 5 6',
      'cgroup /cgroup/tasks',
      'limit fsize 3072',
      'limit cpu 4',
      'open 7 /mnt/seccomp',
    ];
    expect(counts).toEqual([17, 2, 1]);
    expect(words).toEqual([...[...steps, 'user 8 9'].join(' ').split(' '), '/bin/ü', '', 'PATH=/bin']);
  });

  it('let it say that the program starts where that has variables of its own', () => {
    const { words } = read(
      orderBytes(
        { steps: [{ pipeInputFor: '' }], program: ['/bin/true'], environment: { A: 'b=c' } },
        { PATH: '/bin' },
      ),
    );
    expect(words).toEqual(['status', '/bin/true', 'A=b=c']);
  });

  it('hold no NUL, which would end a word', () => {
    for (const orders of [
      { steps: [], program: ['/bin/true', 'a\0b'] },
      { steps: [], program: ['/bin/true'], environment: { A: 'a\0b' } },
    ]) {
      expect(() => orderBytes(orders, {})).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    }
  });
});
