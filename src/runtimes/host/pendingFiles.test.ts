import { describe, expect, it } from 'vitest';
import { PendingFiles } from './pendingFiles.ts';

const refused = (code: string) => expect.objectContaining({ code });

describe('files that wait for their program', () => {
  it('are replaced, read back and listed', async () => {
    const files = new PendingFiles(2 * 4096);
    await files.write('a/b.txt', Buffer.from('one'));
    await files.write('/workspace/a/b.txt', Buffer.from('four'));
    await files.write('./c', Buffer.from(''));
    expect(Buffer.from(await files.read('a/b.txt', 4)).toString()).toBe('four');
    expect([...files.all.keys()]).toEqual(['a/b.txt', 'c']);
    expect((await files.list('.')).map(({ name, type, size }) => [name, type, size])).toEqual([
      ['a', 'directory', 0],
      ['c', 'file', 0],
    ]);
    expect((await files.list('a')).map(({ path }) => path)).toEqual(['/workspace/a/b.txt']);
  });

  it('stay inside and are files', async () => {
    const files = new PendingFiles(4096);
    await files.write('a', Buffer.from('12345'));
    await expect(files.write('../a', Buffer.from(''))).rejects.toEqual(refused('PATH_OUTSIDE_WORKSPACE'));
    await expect(files.write('a/b', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.write('.', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await files.write('x/y', Buffer.from(''));
    await expect(files.write('x', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.read('nothing', 10)).rejects.toEqual(refused('FILE_NOT_FOUND'));
    await expect(files.read('a', 4)).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.list('nothing')).rejects.toEqual(refused('FILE_NOT_FOUND'));
  });

  it('take whole pages, and fit together', async () => {
    const files = new PendingFiles(3 * 4096 + 1);
    await files.write('a', Buffer.alloc(4097));
    await files.write('b', Buffer.alloc(1));
    await files.write('empty', Buffer.alloc(0));
    await expect(files.write('c', Buffer.alloc(1))).rejects.toEqual(refused('INPUT_INVALID'));
    await files.write('a', Buffer.alloc(4096));
    await files.write('c', Buffer.alloc(1));
    await files.remove('b');
    await files.write('d', Buffer.alloc(4096));
    expect([...files.all.keys()]).toEqual(['a', 'empty', 'c', 'd']);
  });

  it('are no more than there is room for, with the folders that they are in', async () => {
    const files = new PendingFiles(4096, 4);
    await files.write('a/b/c', Buffer.alloc(0));
    await expect(files.write('d/e', Buffer.alloc(0))).rejects.toEqual(refused('INPUT_INVALID'));
    await files.write('a/b/d', Buffer.alloc(0));
    await expect(files.write('a/b/e', Buffer.alloc(0))).rejects.toEqual(refused('INPUT_INVALID'));
    await files.remove('a/b/c');
    await files.remove('a/b/d');
    await files.write('a', Buffer.alloc(0));
    await files.write('d/e/f', Buffer.alloc(0));
    expect([...files.all.keys()]).toEqual(['a', 'd/e/f']);
  });

  it('have names that a file system takes', async () => {
    const files = new PendingFiles(4096);
    await files.write(`${'é'.repeat(127)}x`, Buffer.alloc(0));
    const tooLong = { code: 'INPUT_INVALID', message: expect.stringContaining('too long') };
    await expect(files.write('é'.repeat(128), Buffer.alloc(0))).rejects.toMatchObject(tooLong);
    await expect(files.write(`${'x'.repeat(256)}/y`, Buffer.alloc(0))).rejects.toMatchObject(tooLong);
  });
});
