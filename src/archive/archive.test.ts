import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isSandboxError } from '../errors.ts';
import { acceptEntries, componentsOf } from './acceptEntries.ts';
import type { ArchiveEntry, LeftOut } from './entry.ts';
import { printableName, rawName } from './printableName.ts';
import { readArchive } from './readArchive.ts';
import { writeArchive } from './writeArchive.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string | Buffer, content: Buffer, more: Partial<ArchiveEntry> = {}): ArchiveEntry {
  const parts = [content.subarray(0, 3), content.subarray(3)];
  return { name: Buffer.from(name), type: 'file', size: content.length, content: parts, ...more };
}

async function entriesOf(archive: AsyncIterable<Uint8Array>) {
  const found: { name: string; type: string; mode: number; target: string; content: string }[] = [];
  for await (const { name, type, mode, target, content } of readArchive(archive)) {
    found.push({
      name: name.toString('latin1'),
      type,
      mode,
      target: target.toString(),
      content: (await buffer(content)).toString('latin1'),
    });
  }
  return found;
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: Error) => (isSandboxError(error) ? `${error.code}: ${error.message}` : `${error}`),
  );
}

const LONG = `${'d'.repeat(200)}/${'é'.repeat(100)}/x`;

describe('an archive of ours', () => {
  it.each([0, 1, 511, 512, 513, 40_000, 65_535, 100_000])(
    'is read by tar as it was written (%d bytes)',
    async (size) => {
      const content = Buffer.alloc(size, 'x');
      const tar = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'inherit', 'inherit'] });
      const ended = new Promise<number | null>((resolve) => tar.once('close', resolve));
      const entries: ArchiveEntry[] = [
        file('first', content, { executable: true, modifiedAt: 1_000_000_000 }),
        { name: Buffer.from('folder é'), type: 'directory' },
        file(LONG, content),
        file(Buffer.from([0x66, 0xff]), Buffer.from('raw')),
        file(Buffer.concat([Buffer.from([0xfe]), Buffer.alloc(150, 'r')]), Buffer.from('long and raw')),
        { name: Buffer.from('link'), type: 'symlink', target: Buffer.from('/nowhere/'.repeat(30)) },
        { name: Buffer.from('raw-link'), type: 'symlink', target: Buffer.from('\xff'.repeat(150), 'latin1') },
      ];
      await pipeline(Readable.from(writeArchive(entries)), tar.stdin);
      expect(await ended).toBe(0);
      expect(readFileSync(join(folder, 'first')).equals(content)).toBe(true);
      expect(readFileSync(join(folder, LONG)).equals(content)).toBe(true);
      expect(readFileSync(Buffer.from(`${folder}/f\xff`, 'latin1'), 'utf8')).toBe('raw');
      expect(readFileSync(Buffer.from(`${folder}/\xfe${'r'.repeat(150)}`, 'latin1'), 'utf8')).toBe(
        'long and raw',
      );
      expect(statSync(join(folder, 'first')).mode & 0o777).toBe(0o755);
      expect(statSync(join(folder, 'first')).mtimeMs).toBe(1_000_000_000_000);
      expect(statSync(join(folder, LONG)).mode & 0o777).toBe(0o644);
      expect(statSync(join(folder, 'folder é')).isDirectory()).toBe(true);
      expect(readlinkSync(join(folder, 'raw-link'), 'latin1')).toBe('\xff'.repeat(150));
      expect(readlinkSync(join(folder, 'link'))).toBe('/nowhere/'.repeat(30));
    },
  );

  it('comes back as it went in, however it is cut', async () => {
    const names = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 300 })
      .filter((name) => !name.includes('\0'));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ name: names, content: fc.uint8Array({ maxLength: 3000 }) }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 5000 }),
        async (files, size) => {
          const wanted = files.map(({ name, content }) => ({
            name: Buffer.from(`x${name}x`).toString('latin1'),
            type: 'file',
            mode: 0o644,
            target: '',
            content: Buffer.from(content).toString('latin1'),
          }));
          const entries = files.map(({ name, content }) => file(`x${name}x`, Buffer.from(content)));
          const bytes = await buffer(writeArchive(entries));
          expect(await entriesOf(inChunks(bytes, size))).toEqual(wanted);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('refuses a file that is not as long as it was said to be', async () => {
    const wrong: ArchiveEntry = { ...file('a', Buffer.from('abc')), size: 2 };
    await expect(buffer(writeArchive([wrong]))).rejects.toThrow('a has 3 bytes and not 2');
  });
});

describe('reading an archive', () => {
  it.each(['gnu', 'posix', 'ustar'])('takes what tar writes (%s)', async (format) => {
    mkdirSync(join(folder, 'a'));
    const name = format === 'ustar' ? 'short' : `${'é'.repeat(60)}${'n'.repeat(100)}`;
    writeFileSync(join(folder, 'a', name), 'content');
    chmodSync(join(folder, 'a', name), 0o755);
    const bytes = execFileSync('tar', ['-c', `--format=${format}`, '-C', folder, 'a']);
    expect(await entriesOf(inChunks(bytes, 1000))).toEqual([
      { name: 'a/', type: 'directory', mode: 0o755, target: '', content: '' },
      {
        name: Buffer.from(`a/${name}`).toString('latin1'),
        type: 'file',
        mode: 0o755,
        target: '',
        content: 'content',
      },
    ]);
  });

  it('finds every place at which an archive was torn', async () => {
    const bytes = await buffer(
      writeArchive([
        file('a', Buffer.alloc(700, 1)),
        { name: Buffer.from('d'), type: 'directory' },
        file('b', Buffer.alloc(512, 0)),
      ]),
    );
    const end = bytes.length - 1024;
    const whole: number[] = [];
    for (let length = 0; length <= bytes.length; length += length < end ? 64 : 512) {
      const said = await refusalOf(entriesOf(inChunks(bytes.subarray(0, length), 300)));
      if (said === 'none') whole.push(length);
      else expect(said).toMatch(/^INPUT_INVALID: This is not a whole tar archive/);
    }
    expect(whole).toEqual([end + 512, end + 1024]);
  });

  it('never fails but by a refusal, whatever it is given', async () => {
    const good = await buffer(writeArchive([file(LONG, Buffer.alloc(2000, 7)), file('b', Buffer.from('b'))]));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 6 }),
        async (changes) => {
          const bytes = Buffer.from(good);
          for (const [place, byte] of changes) bytes[place] = byte;
          expect(await refusalOf(entriesOf(inChunks(bytes, 512)))).toMatch(/^(none|INPUT_INVALID)/);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('does not wait for a source that never answers, once it is given up', async () => {
    let returned = false;
    const silent: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          returned = true;
          return { value: undefined, done: true };
        },
      }),
    };
    const over = new AbortController();
    const reading = readArchive(silent, over.signal).next();
    over.abort(new Error('given up'));
    await expect(reading).rejects.toThrow('given up');
    expect(returned).toBe(true);
  });

  it("passes on the source's own failure", async () => {
    const bytes = await buffer(writeArchive([file('a', Buffer.alloc(2000))]));
    const failing = (async function* () {
      yield bytes.subarray(0, 1000);
      throw new Error('the line is dead');
    })();
    expect(await refusalOf(entriesOf(failing))).toBe('Error: the line is dead');
  });
});

describe('accepting entries', () => {
  const limits = { maxBytes: 1000, maxEntries: 5 };

  async function accepted(entries: readonly ArchiveEntry[], options: object = {}): Promise<string[]> {
    const paths: string[] = [];
    const found = readArchive(writeArchive(entries));
    for await (const { path } of acceptEntries(found, { ...limits, links: true, ...options }))
      paths.push(path);
    return paths;
  }
  const link = (name: string): ArchiveEntry => ({
    name: Buffer.from(name),
    type: 'symlink',
    target: Buffer.from('/etc'),
  });
  const some = Buffer.from('some');

  it('lets ordinary names through (control)', async () => {
    const entries = [file('./a/./b', some), file('a//c', some), file('..a/b..', some), link('l')];
    expect(await accepted(entries)).toEqual(['a/b', 'a/c', '..a/b..', 'l']);
  });

  it.each(['/etc/passwd', '../a', 'a/../../b', 'a/..', '..', './../a', '//a'])(
    'refuses %j, which leads out',
    async (name) => {
      expect(await refusalOf(accepted([file(name, some)]))).toMatch(/^PATH_OUTSIDE_WORKSPACE/);
    },
  );

  it.each(['.', './', 'x'.repeat(256), `${'a/'.repeat(128)}b`])(
    'refuses %j, which is no name of a file',
    async (name) => {
      expect(await refusalOf(accepted([{ ...file(name.replace(/\/$/, ''), some) }]))).toMatch(
        /^INPUT_INVALID/,
      );
    },
  );

  it('refuses what leads through a link of the archive itself', async () => {
    expect(await refusalOf(accepted([link('a'), file('a/passwd', some)]))).toMatch(/^PATH_OUTSIDE_WORKSPACE/);
    expect(await refusalOf(accepted([link('a/b'), file('./a//b/c/d', some)]))).toMatch(
      /^PATH_OUTSIDE_WORKSPACE/,
    );
    expect(await refusalOf(accepted([link('a/b'), file('a/bc/d', some)]))).toBe('none');
  });

  it('refuses links where they are not wanted, and leaves them out where that is told', async () => {
    expect(await refusalOf(accepted([link('a')], { links: false }))).toMatch(
      /^INPUT_INVALID: .*"a" is a symbolic link/,
    );
    const leftOut: LeftOut[] = [];
    const onLeftOut = (one: LeftOut) => leftOut.push(one);
    expect(await accepted([link('a'), file('b', some)], { links: false, onLeftOut })).toEqual(['b']);
    expect(leftOut).toEqual([{ path: 'a', because: 'a symbolic link' }]);
  });

  it.each(['-c --hard-dereference', '-c'])(
    'refuses hard links and FIFOs that tar wrote (%s)',
    async (options) => {
      writeFileSync(join(folder, 'a'), 'a');
      execFileSync('ln', [join(folder, 'a'), join(folder, 'b')]);
      const bytes = execFileSync('tar', [...options.split(' '), '-C', folder, 'a', 'b']);
      const read = async () => {
        for await (const _ of acceptEntries(readArchive(inChunks(bytes, 512)), { ...limits, links: true }));
      };
      expect(await refusalOf(read())).toMatch(options === '-c' ? /"b" is a hard link/ : /^none$/);
      execFileSync('mkfifo', [join(folder, 'fifo')]);
      const fifo = execFileSync('tar', ['-c', '-C', folder, 'fifo']);
      const readFifo = async () => {
        for await (const _ of acceptEntries(readArchive(inChunks(fifo, 512)), { ...limits, links: true }));
      };
      expect(await refusalOf(readFifo())).toMatch(/"fifo" is a FIFO/);
    },
  );

  it('refuses a sparse file, whose content is not what it says', async () => {
    execFileSync('truncate', ['-s', '10M', join(folder, 'sparse')]);
    for (const format of ['gnu', 'posix']) {
      const bytes = execFileSync('tar', ['-c', '-S', `--format=${format}`, '-C', folder, 'sparse']);
      const read = async () => {
        const all = { maxBytes: 1e9, maxEntries: 5, links: true };
        for await (const _ of acceptEntries(readArchive(inChunks(bytes, 512)), all));
      };
      expect(await refusalOf(read())).toMatch(/^INPUT_INVALID/);
    }
  });

  it('counts bytes as they are announced, and entries', async () => {
    expect(await refusalOf(accepted([file('a', Buffer.alloc(600)), file('b', Buffer.alloc(400))]))).toBe(
      'none',
    );
    expect(await refusalOf(accepted([file('a', Buffer.alloc(600)), file('b', Buffer.alloc(401))]))).toMatch(
      /^INPUT_INVALID: With "b" there are more than 1000 bytes/,
    );
    const six = Array.from({ length: 6 }, (_, number) => file(`${number}`, some));
    expect(await refusalOf(accepted(six))).toMatch(/^INPUT_INVALID: There are more than 5/);
  });

  it('gives only components that lead down', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('.', '/', 'a', '\\', '\0', 'é'), maxLength: 20 }),
        (name) => {
          let components: Buffer[];
          try {
            components = componentsOf(Buffer.from(name));
          } catch (error) {
            return isSandboxError(error);
          }
          return components.every(
            (one) => !['', '.', '..'].includes(String(one)) && !/[/\0]/.test(String(one)),
          );
        },
      ),
    );
  });
});

describe('names as they are shown', () => {
  it('lead back to the name, whatever it is', () => {
    const units = fc.constantFrom(0x5c, 0x78, 0x66, 0x35, 0x63, 0xff, 0xc3, 0xa9, 0x41, 0x0a);
    fc.assert(
      fc.property(fc.array(units, { minLength: 1, maxLength: 12 }), (bytes) => {
        const raw = Buffer.from(bytes);
        expect(rawName(printableName(raw))).toEqual(raw);
      }),
      { numRuns: 2000 },
    );
  });

  it('are names as they stand where no listing shows such a name', () => {
    for (const name of ['a\\x41', '\\x2e\\x2e', '\\x2f', '\\x00', '\\xff\u00e9', 'plain']) {
      expect(rawName(name)).toEqual(Buffer.from(name));
    }
  });
});
