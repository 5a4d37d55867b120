import { describe, expect, it, onTestFinished } from 'vitest';
import { acceptEntries } from '../../archive/acceptEntries.ts';
import { readArchive } from '../../archive/readArchive.ts';
import { writeArchive } from '../../archive/writeArchive.ts';
import { SandboxError } from '../../errors.ts';
import type { Guest } from '../../runtimes/runtime.ts';
import { applyDifference, type Wanted } from './applyDifference.ts';
import { readTree } from './readTree.ts';
import { Spool } from './spool.ts';

const LIMITS = { maxBytes: 1e6, maxEntries: 1000 };

/** A workspace of files alone. */
class Files implements Pick<Guest, 'pack' | 'unpack' | 'removeFile'> {
  readonly content: Map<string, string>;
  /** Called before each file is written. */
  onWrite: (path: string) => void = () => {};

  /** So many bytes have room, with those of a file that is being replaced. */
  room = Number.POSITIVE_INFINITY;

  constructor(content: Readonly<Record<string, string>>) {
    this.content = new Map(Object.entries(content));
  }

  async pack() {
    const entries = [...this.content].map(([name, text]) => ({
      ...{ name: Buffer.from(name), type: 'file' as const, size: text.length, content: [Buffer.from(text)] },
    }));
    return Object.assign(writeArchive(entries), { leftOut: [], destroy: () => {} });
  }

  async unpack(_: string, archive: AsyncIterable<Uint8Array>) {
    for await (const { path, content } of acceptEntries(readArchive(archive), { ...LIMITS, links: true })) {
      this.onWrite(path);
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const used = [...this.content.values()].reduce((sum, { length }) => sum + length, 0);
      if (used + text.length > this.room) throw new Error('no room');
      this.content.set(path, text);
    }
    return { files: 0, folders: 0, bytes: 0 };
  }

  async removeFile(path: string) {
    if (!this.content.delete(path)) throw new SandboxError('FILE_NOT_FOUND', 'none', { hint: 'none' });
  }
}

async function prepare(before: Record<string, string>, after: Record<string, string>) {
  const spool = await Spool.open();
  onTestFinished(() => spool.close());
  const keeping = { spool, wants: () => true };
  const wanted: Wanted = {
    before: await readTree(new Files(before) as unknown as Guest, { limits: LIMITS }),
    after: await readTree(new Files(after) as unknown as Guest, { limits: LIMITS, keeping }),
    spool,
  };
  const files = new Files(before);
  return { files, apply: () => applyDifference(files as unknown as Guest, wanted, LIMITS) };
}

const BEFORE = { kept: 'kept', changed: 'old', removed: 'removed' };
const AFTER = { kept: 'kept', changed: 'new', added: 'added', more: 'more' };

describe('a difference', () => {
  it('is applied, all of it', async () => {
    const { files, apply } = await prepare(BEFORE, AFTER);
    await apply();
    expect(Object.fromEntries(files.content)).toEqual(AFTER);
  });

  it('is applied to nothing else than what it was made from', async () => {
    const { files, apply } = await prepare(BEFORE, AFTER);
    files.content.set('kept', 'Kept');
    await expect(apply()).rejects.toMatchObject({ code: 'WORKSPACE_CHANGED', details: { applied: false } });
    expect(Object.fromEntries(files.content)).toEqual({ ...BEFORE, kept: 'Kept' });
  });

  it.each(['changed', 'added', 'more'])('is undone when %s cannot be written', async (stuck) => {
    const { files, apply } = await prepare(BEFORE, AFTER);
    let isFull = false;
    files.onWrite = (path) => {
      if (path !== stuck || isFull) return;
      isFull = true;
      throw new Error('no room');
    };
    await expect(apply()).rejects.toThrow('no room');
    expect(Object.fromEntries(files.content)).toEqual(BEFORE);
  });

  it('needs no room for two versions of a large file, and is undone without', async () => {
    const [one, other] = ['1'.repeat(80_000), '2'.repeat(80_000)];
    const fits = await prepare({ a: 'a', large: one, z: 'z' }, { a: 'b', large: other });
    fits.files.room = 100_000;
    await fits.apply();
    expect(Object.fromEntries(fits.files.content)).toEqual({ a: 'b', large: other });
    const before = { a: 'a', large: one, z: 'z' };
    const full = await prepare(before, { a: 'b', large: other, more: one });
    full.files.room = 100_000;
    await expect(full.apply()).rejects.toThrow('no room');
    expect(Object.fromEntries(full.files.content)).toEqual(before);
  });

  it('that can be neither applied nor undone is told as that', async () => {
    const { files, apply } = await prepare(BEFORE, AFTER);
    files.onWrite = () => {
      throw new Error('no room');
    };
    await expect(apply()).rejects.toMatchObject({
      code: 'SANDBOX_FAILED',
      message: expect.stringContaining('could not be undone'),
    });
  });

  it.each([
    ['another file', 'other'],
    ['one that nobody touches', 'kept'],
    ['one that was just written', 'changed'],
    ['one that was just removed', 'removed'],
  ])('beside which somebody writes %s is not said to be applied', async (_, path) => {
    const { files, apply } = await prepare(BEFORE, AFTER);
    files.onWrite = (written) => {
      if (written === 'more') files.content.set(path, 'by somebody else');
    };
    await expect(apply()).rejects.toMatchObject({
      code: 'WORKSPACE_CHANGED',
      details: { applied: true, paths: [path] },
    });
  });
});
