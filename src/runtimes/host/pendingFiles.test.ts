import { describe, expect, it } from 'vitest';
import { PendingFiles } from './pendingFiles.ts';

const refused = (code: string) => expect.objectContaining({ code });

describe('files that wait for their program', () => {
  it('are replaced, read back and listed', async () => {
    const files = new PendingFiles(100);
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

  it('stay inside, fit together and are files', async () => {
    const files = new PendingFiles(10);
    await files.write('a', Buffer.from('12345'));
    await expect(files.write('../a', Buffer.from(''))).rejects.toEqual(refused('PATH_OUTSIDE_WORKSPACE'));
    await expect(files.write('a/b', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.write('.', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.write('b', Buffer.from('123456'))).rejects.toEqual(refused('INPUT_INVALID'));
    await files.write('a', Buffer.from('1234567890'));
    await files.write('x/y', Buffer.from(''));
    await expect(files.write('x', Buffer.from(''))).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.read('nothing', 10)).rejects.toEqual(refused('FILE_NOT_FOUND'));
    await expect(files.read('a', 9)).rejects.toEqual(refused('INPUT_INVALID'));
    await expect(files.list('nothing')).rejects.toEqual(refused('FILE_NOT_FOUND'));
  });
});
