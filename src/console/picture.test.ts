import { expect, it } from 'vitest';
import { pictureOf } from './picture.ts';

function png(width: number, height: number): string {
  const bytes = Buffer.alloc(33);
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

function jpeg(width: number, height: number): string {
  const start = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc4, 0, 3, 0];
  const frame = [0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 0, 0, 0];
  return Buffer.from([...start, ...frame]).toString('base64');
}

it('shows pictures by what they are', () => {
  const base64 = png(640, 480);
  expect(pictureOf('png', base64)).toEqual({
    ...{ ok: true, width: 640, height: 480 },
    url: `data:image/png;base64,${base64}`,
  });
  expect(pictureOf('jpeg', jpeg(300, 200))).toMatchObject({ ok: true, width: 300, height: 200 });
});

it.each([
  ['a script', 'png', Buffer.from('<script>alert(1)</script>').toString('base64')],
  ['an SVG', 'png', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')],
  ['a JPEG called PNG', 'png', jpeg(3, 2)],
  ['a PNG called JPEG', 'jpeg', png(3, 2)],
  ['nothing', 'jpeg', ''],
  ['a JPEG that never begins', 'jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0]).toString('base64')],
  [
    'a JPEG whose segments have no length',
    'jpeg',
    Buffer.from([0xff, 0xd8, ...Array(100).fill(0)]).toString('base64'),
  ],
] as const)('refuses %s', (_what, form, base64) => {
  expect(pictureOf(form, base64)).toEqual({
    ok: false,
    because: `It was said to be a ${form.toUpperCase()} picture, and is none.`,
  });
});

it('refuses what is too large to be read, or to be drawn', () => {
  expect(pictureOf('png', png(100_000, 100_000))).toEqual({
    ok: false,
    because: 'It has 100000 × 100000 pixels, which are not shown.',
  });
  expect(pictureOf('png', png(0, 5)).ok).toBe(false);
  expect(pictureOf('png', png(5, 5).concat('A'.repeat(12_000_000)))).toEqual({
    ok: false,
    because: 'It has more than 8 MB, which are the most that are shown.',
  });
});

it('lets nothing but base64 into the address', () => {
  const picture = pictureOf('png', `${png(5, 5)}"><script>`);
  expect(picture.ok && picture.url).toMatch(/^data:image\/png;base64,[A-Za-z0-9+/=]+$/);
});
