import { describe, expect, it } from 'vitest';
import { parseListing } from './listing.ts';

const records = (...parts: (string | Buffer)[]): Buffer =>
  Buffer.concat(parts.flatMap((part) => [Buffer.from(part), Buffer.from('\0')]));

describe('a listing', () => {
  it('reads the records of find and those of stat alike', () => {
    const found = records('f 5 1700000000.1234567890 b', 'd 40 1700000000.0 a');
    const stated = records('81a4 5 1700000000 b', '41ed 40 1700000000 a');
    const expected = [
      {
        name: 'a',
        path: '/workspace/a',
        type: 'directory',
        size: 40,
        modifiedAt: '2023-11-14T22:13:20.000Z',
      },
      { name: 'b', path: '/workspace/b', type: 'file', size: 5, modifiedAt: '2023-11-14T22:13:20.000Z' },
    ];
    expect(parseListing(found, '/workspace')).toEqual(expected);
    expect(parseListing(stated, '/workspace')).toEqual(expected);
  });

  it('knows links, and calls everything else other', () => {
    const types = parseListing(
      records('l 1 0 l', 'p 0 0 fifo', 's 0 0 socket', 'a1ff 1 0 m', '1180 0 0 n'),
      '/w',
    );
    expect(types.map(({ type }) => type)).toEqual(['other', 'symlink', 'symlink', 'other', 'other']);
  });

  it('takes names of any bytes, and makes them printable', () => {
    const odd = Buffer.from([0x66, 0x20, 0x31, 0x20, 0x30, 0x20, 0xff, 0x0a, 0x41]);
    expect(
      parseListing(records(odd, 'f 1 0 two\nlines f 1 0 x', 'f 2 0  space'), '/w').map(({ name }) => name),
    ).toEqual([' space', 'two\nlines f 1 0 x', '\\xff\nA']);
  });

  it('leaves out what is no record, and what was cut off', () => {
    expect(parseListing(Buffer.concat([records('nonsense', ''), Buffer.from('f 1 0 cut')]), '/w')).toEqual(
      [],
    );
  });
});
