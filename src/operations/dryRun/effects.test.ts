import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExecutionResult } from '../../result/result.ts';
import { Spool } from '../../sandbox/trees/spool.ts';
import type { Tree, TreeEntry } from '../../sandbox/trees/tree.ts';
import { type Effects, effectsHash, effectsOf, MAX_DIFF_BYTES } from './effects.ts';
import { effectsText } from './effectsText.ts';

let beforeSpool: Spool;
let afterSpool: Spool;
beforeAll(async () => {
  beforeSpool = await Spool.open();
  afterSpool = await Spool.open();
});
afterAll(async () => {
  await beforeSpool.close();
  await afterSpool.close();
});

type Contents = Readonly<Record<string, string | Uint8Array>>;

async function treeOf(contents: Contents, spool: Spool, leftOut: Tree['leftOut'] = []): Promise<Tree> {
  const entries = new Map<string, TreeEntry>();
  for (const [path, content] of Object.entries(contents)) {
    const bytes = Buffer.from(content);
    const kept = { offset: spool.end, size: bytes.length };
    await spool.add(bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    entries.set(path, {
      ...{ name: Buffer.from(path), path, type: 'file', executable: false },
      ...{ size: bytes.length, sha256, kept },
    });
  }
  return { entries, leftOut };
}

const RESULT = { meta: { usage: {} } } as unknown as ExecutionResult;

async function effects(before: Contents, after: Contents, leftOut?: Tree['leftOut']): Promise<Effects> {
  const trees = {
    before: await treeOf(before, beforeSpool),
    after: await treeOf(after, afterSpool, leftOut),
  };
  return effectsOf({ ...trees, beforeSpool, afterSpool }, RESULT, 'none');
}

describe('the effects of a dry run', () => {
  it('have a diff for text, and say why there is none for anything else', async () => {
    const { files } = await effects(
      { text: 'a\nb\n', binary: 'x\0', large: 'x', gone: 'x\n' },
      { text: 'a\nc\n', binary: 'y\0', large: 'x'.repeat(MAX_DIFF_BYTES + 1), new: 'x\n' },
    );
    const told = Object.fromEntries(files.map(({ path, diff, noDiff }) => [path, diff ?? noDiff]));
    expect(told).toEqual({
      text: '--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n',
      ...{ binary: 'binary', large: 'large' },
      gone: '--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n',
      new: '--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+x\n',
    });
  });

  it('tell of two long texts without a line in common that they are large, and soon', async () => {
    const lines = (word: string) => Array.from({ length: 30_000 }, (_, n) => `${word}${n}`).join('\n');
    const { files } = await effects({ x: lines('a') }, { x: lines('b') });
    expect(files).toMatchObject([{ kind: 'changed', noDiff: 'large' }]);
  });

  it('have another hash when one byte, one mode, one path is another', async () => {
    const base = effectsHash(await effects({ a: '1' }, { a: '2' }));
    expect(effectsHash(await effects({ a: '1' }, { a: '2' }))).toBe(base);
    const { files } = await effects({ a: '1' }, { a: '2' });
    const others: Effects['files'][] = [
      (await effects({ a: '1' }, { a: '3' })).files,
      (await effects({ a: '0' }, { a: '2' })).files,
      (await effects({ b: '1' }, { b: '2' })).files,
      (await effects({ a: '1' }, {})).files,
      (await effects({}, { a: '2' })).files,
      files.map((file) => ({ ...file, after: { type: 'file' as const, ...file.after, executable: true } })),
      files.map((file) => ({ ...file, after: { type: 'symlink' as const, target: 'x' } })),
      files.map((file) => ({ ...file, after: { type: 'symlink' as const, target: 'y' } })),
    ];
    const hashes = others.map((other) => effectsHash({ files: other }));
    expect(new Set([base, ...hashes]).size).toBe(others.length + 1);
  });

  it('are a text in which no name can pass for a line of ours', async () => {
    const name = 'x\n- kept  file, 1 bytes\r\u2028\u202e\x1b[2K';
    const text = effectsText(await effects({}, { [name]: 'x\n' }));
    expect(text.split('\n').filter((line) => line.startsWith('- '))).toEqual([]);
    expect(text).toContain(
      '+ x\\x0a- kept  file, 1 bytes\\x0d\\xe2\\x80\\xa8\\xe2\\x80\\xae\\x1b[2K  file, 2 bytes',
    );
    expect(text).toContain('+++ "b/x\\\\x0a- kept');
  });

  it('cannot be committed when something that was there cannot be read any more', async () => {
    const fifo = [{ path: 'a', because: 'a FIFO' }];
    expect(await effects({ a: '1' }, {}, fifo)).toMatchObject({ notCommittable: expect.any(String) });
    expect(await effects({ 'a/b': '1' }, {}, fifo)).toMatchObject({ notCommittable: expect.any(String) });
    const everything = [{ path: '.', because: 'not read' }];
    expect(await effects({}, {}, everything)).toMatchObject({ notCommittable: expect.any(String) });
    expect(await effects({ b: '1' }, { b: '1' }, fifo)).not.toHaveProperty('notCommittable');
  });
});
