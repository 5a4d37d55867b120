import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { type ArchiveFile, tarArchive } from './tarArchive.ts';

function file(name: string, content: Buffer, mode = 0o644): ArchiveFile {
  return { name, mode, size: content.length, content: [content.subarray(0, 3), content.subarray(3)] };
}

describe('tarArchive', () => {
  it.each([0, 1, 511, 512, 513, 100_000])('is read by tar as it was written (%d bytes)', async (size) => {
    const folder = mkdtempSync(join(tmpdir(), 'gbx-tar-'));
    try {
      const contents = [Buffer.alloc(size, 'x'), Buffer.from('second\n')] as const;
      const tar = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'inherit', 'inherit'] });
      const ended = new Promise<number | null>((resolve) => tar.once('close', resolve));
      await pipeline(
        Readable.from(tarArchive([file('first', contents[0], 0o755), file('second', contents[1])])),
        tar.stdin,
      );
      expect(await ended).toBe(0);
      expect(['first', 'second'].map((name) => readFileSync(join(folder, name)))).toEqual(contents);
      expect(['first', 'second'].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([
        0o755, 0o644,
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses a file that is not as long as it was said to be', async () => {
    const wrong: ArchiveFile = { name: 'a', mode: 0o644, size: 2, content: [Buffer.from('abc')] };
    await expect(buffer(tarArchive([wrong]))).rejects.toThrow('a has 3 bytes and not 2');
  });
});
