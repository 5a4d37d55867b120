import { describe, expect, it } from 'vitest';
import { Capture } from './capture.ts';
import { type KeptStream, readPage } from './outputPage.ts';

function kept(bytes: Uint8Array, { first = 0, ended = true } = {}): KeptStream {
  return {
    totalBytes: bytes.length,
    droppedBytes: first,
    ended,
    copy: (offset, limit) => {
      const start = Math.max(offset, first);
      return { offset: start, bytes: bytes.slice(start, start + limit) };
    },
  };
}

const TEXT = 'aé€😀z';
const BYTES = Buffer.from(TEXT);

describe('a page', () => {
  it('never splits a character, whatever its limit, and leaves nothing out', () => {
    for (let limit = 1; limit <= BYTES.length; limit++) {
      let text = '';
      for (let offset = 0; offset < BYTES.length; ) {
        const page = readPage(kept(BYTES), { offset, limit });
        expect(page.offset).toBe(offset);
        expect(page.nextOffset).toBeGreaterThan(offset);
        text += page.text;
        offset = page.nextOffset;
      }
      expect(text).toBe(TEXT);
    }
  });

  it('begins at the first whole character that is kept, and says how much is not', () => {
    const page = readPage(kept(BYTES, { first: 2 }), { offset: 0 });
    expect(page).toMatchObject({ text: '€😀z', offset: 3, droppedBytes: 2, totalBytes: BYTES.length });
  });

  it('holds an unfinished character back until its rest is there or nothing more comes', () => {
    const half = BYTES.subarray(0, 5);
    expect(readPage(kept(half, { ended: false }), {})).toMatchObject({ text: 'aé', nextOffset: 3 });
    expect(readPage(kept(half), {})).toMatchObject({ text: 'aé\ufffd', nextOffset: 5, ended: true });
  });

  it('does not wait for bytes that begin no character', () => {
    for (const invalid of [[0xff], [0x80], [0x80, 0x80, 0x80, 0x80], [0xf8], [0x41, 0xfe]]) {
      const page = readPage(kept(Uint8Array.from(invalid), { ended: false }), {});
      expect(page.nextOffset).toBe(invalid.length);
    }
  });

  it('is empty behind the end', () => {
    expect(readPage(kept(BYTES), { offset: 1000 })).toMatchObject({
      text: '',
      offset: BYTES.length,
      nextOffset: BYTES.length,
    });
  });

  it.each([
    { offset: -1 },
    { offset: 0.5 },
    { offset: Number.NaN },
    { limit: 0 },
    { limit: 2 ** 30 },
    { stream: 'both' as 'stdout' },
  ])('refuses %j', (request) => {
    expect(() => readPage(kept(BYTES), request)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});

describe('the copy of a capture', () => {
  it.each([1, 7, 10, 16, 37, 1000])('has the right bytes at every offset with a limit of %i', (limit) => {
    const capture = new Capture(limit);
    const all = Uint8Array.from({ length: 100 }, (_, n) => n);
    for (let at = 0; at < 100; at += 9) capture.push(all.slice(at, at + 9));
    const head = Math.min(100, Math.ceil(limit / 2));
    const tail = Math.max(head, 100 - Math.floor(limit / 2));
    expect(capture.droppedBytes).toBe(tail - head);
    for (let offset = 0; offset <= 100; offset++) {
      for (const size of [1, 5, 1000]) {
        const found = capture.copy(offset, size);
        const start = offset < head ? offset : Math.max(offset, tail);
        const end = offset < head ? Math.min(head, start + size) : Math.min(100, start + size);
        expect(found).toEqual({ offset: start, bytes: all.slice(start, Math.max(start, end)) });
      }
    }
  });
});
