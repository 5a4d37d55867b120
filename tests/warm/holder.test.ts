/** What holds the memory of an interpreter that waits: made as it is made there, by processes of the host. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { holderCode, holderObject } from '../../src/languages/waiting/holder/holder.ts';
import { SOURCE_SHA256 } from '../../src/languages/waiting/holder/programs.ts';

const ROOT = new URL('../../src/', import.meta.url);
const PROGRAM = fileURLToPath(import.meta.resolve('./programs/isHeld.py'));

describe('a holder of memory', () => {
  it('is built from the source that is here', () => {
    const names = ['runtimes/systemCall.h', 'runtimes/freestanding.h', 'languages/waiting/holder/holder.c'];
    const sources = names.map((name) => readFileSync(new URL(name, ROOT)));
    expect(createHash('sha256').update(Buffer.concat(sources)).digest('hex')).toBe(SOURCE_SHA256);
  });

  it('is for each machine, or for none', () => {
    expect([holderCode('x64').length > 0, holderCode('arm64').length % 4]).toEqual([true, 0]);
    expect([holderCode('s390x').length, holderObject('s390x')]).toEqual([0, '']);
  });

  it('is no child, has nothing open, heeds nothing, and goes when its caller ends or becomes another', async () => {
    const { SANDBOX_PYTHON: python = 'python3' } = process.env;
    const object = Buffer.from(holderObject(), 'base64').toString('hex');
    const { stdout } = await promisify(execFile)(python, [
      ...[PROGRAM, holderCode().toString('hex'), object, process.execPath],
    ]);
    expect(JSON.parse(stdout)).toEqual({
      holder: {
        'parent is ours': true,
        descriptors: [],
        'shares memory': true,
        'signals of the child blocked': 0,
        refuses: true,
      },
      'after an end': [7, 0],
      'after an exec': [0, true],
      'without it': [-9, 8],
      node: { 'still loaded': 'false', exit: 9, holder: 0 },
    });
  });
});
