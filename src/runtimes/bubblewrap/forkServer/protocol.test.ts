import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { embeddedForkServer } from '../../../../scripts/embed-kernels.ts';
import { beginningLines, makeLine, parseAnswer, programOrders } from './protocol.ts';

describe('what is said to a fork server', () => {
  it('begins with who it is, where it is, the filter and what it imports', () => {
    const seccomp = Uint8Array.of(1, 0, 255);
    const keeper = Uint8Array.of(15, 5);
    const holder = Uint8Array.of(144, 195);
    const preload = ['json', 'numpy'];
    expect(beginningLines({ isRoot: true, network: 'own', seccomp, keeper, holder, preload })).toBe(
      'root\nown\n0100ff\n0f05\n90c3\njson,numpy\n',
    );
    const none = { keeper: new Uint8Array(), holder: new Uint8Array(), preload: [] };
    expect(beginningLines({ isRoot: false, network: 'inherited', seccomp, ...none })).toBe(
      'user\nhost\n0100ff\n\n\n\n',
    );
  });

  it('asks for a program by numbers', () => {
    const limits = { diskKb: 1024, inodes: 2048, openFiles: 64, fileBytes: 4096, cpuSec: 3 };
    expect(makeLine(5, { rehearses: true, isHeld: false }, limits)).toBe(
      'make 5 1 0 1024 2048 0 64 4096 3 -1 -1\n',
    );
    const more = { ...limits, dataBytes: 9, processes: 8 };
    expect(makeLine(6, { rehearses: false, isHeld: true }, more)).toBe(
      'make 6 0 1 1024 2048 0 64 4096 3 9 8\n',
    );
  });

  it('gives a program its orders as words, and bytes behind them', () => {
    const files = new Map([['a/b', Buffer.from('file')]]);
    const orders = {
      ...{ stdin: Buffer.from('in\0put'), becomes: 'command' as const },
      ...{ args: ['x', ''], env: { A: 'b=c' }, files },
    };
    const [head = Buffer.alloc(0), ...bytes] = programOrders(orders).map((piece) => Buffer.from(piece));
    expect(head.readUInt32LE()).toBe(head.length - 4);
    expect(head.subarray(4).toString()).toBe('command\0file\x006\x002\0x\0\x001\0a/b\x004\0A=b=c\0');
    expect(bytes.map(String)).toEqual(['in\0put', 'file']);
  });

  it('never lets a word begin another', () => {
    for (const smuggled of [{ args: ['a\0b'] }, { env: { A: 'a\0B=c' } }, { env: { 'A\0B': '' } }]) {
      const orders = {
        stdin: undefined,
        becomes: 'python' as const,
        args: [],
        env: {},
        files: new Map<string, Uint8Array>(),
        ...smuggled,
      };
      expect(() => programOrders(orders)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    }
  });
});

describe('what a fork server says', () => {
  it('is taken as it is meant', () => {
    expect(parseAnswer('ready')).toEqual({ is: 'ready' });
    expect(parseAnswer('map')).toEqual({ is: 'map' });
    expect(parseAnswer('failed preload numpy No such')).toEqual({
      ...{ is: 'failed', what: 'preload', why: 'numpy No such' },
    });
    expect(parseAnswer('made 3 17 6 10 11 12 13 14')).toEqual({
      ...{ is: 'made', id: 3, user: 6 },
      ends: { stdin: 10, stdout: 11, stderr: 12, orders: 13, report: 14 },
    });
  });

  it.each(['', 'made', 'made 1 2 3', 'made 1 2 3 4 5 6 7 x', 'hello'])('is refused as %j', (line) => {
    expect(() => parseAnswer(line)).toThrow(/fork server said/);
  });
});

it('embeds the fork server as it is', () => {
  expect(readFileSync(new URL('sources.ts', import.meta.url), 'utf8')).toBe(embeddedForkServer());
});
