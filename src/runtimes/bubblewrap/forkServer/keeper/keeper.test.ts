import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { keeperCode } from './keeper.ts';
import { SOURCE_SHA256 } from './programs.ts';

describe('the code of a keeper', () => {
  it('is built from the source that is here', () => {
    const sources = ['../../../systemCall.h', '../../../freestanding.h', 'keeper.c'].map((name) =>
      readFileSync(new URL(name, import.meta.url)),
    );
    expect(createHash('sha256').update(Buffer.concat(sources)).digest('hex')).toBe(SOURCE_SHA256);
  });

  it('is for each machine, or for none', () => {
    expect([keeperCode('x64').length > 0, keeperCode('arm64').length > 0]).toEqual([true, true]);
    expect(keeperCode('s390x')).toHaveLength(0);
  });
});
