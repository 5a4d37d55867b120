import { expect, it } from 'vitest';
import { frameOf } from './frame.ts';

const pageOf = (result: Parameters<typeof frameOf>[0]): string => {
  const frame = frameOf(result);
  if (!frame?.ok) throw new Error('It is not shown.');
  return frame.page;
};

it('shows an SVG as a picture, so that nothing of it is part of a page', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>';
  const page = pageOf({ type: 'result', svg });
  expect(page).toContain(`src="data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}"`);
  expect(page).not.toContain('alert');
});

it('says why it shows no SVG that is huge, or that could grow', () => {
  expect(frameOf({ type: 'result', svg: `<svg>${'x'.repeat(3 * 1024 ** 2)}</svg>` })).toEqual({
    ok: false,
    because: 'The SVG has 4 MB: 2 are the most that are shown.',
  });
  const growing = '<!DOCTYPE svg [<!entity a "aaaa">]><svg>&a;</svg>';
  expect(frameOf({ type: 'result', svg: growing })).toEqual({
    ok: false,
    because: 'The SVG declares entities, which are not resolved.',
  });
});

it('leaves HTML as it is but for what would open connections', () => {
  const table = '<table border="1"><tr><td>1 < a</td></tr></table><linked><abbr><a-b><frames>';
  expect(pageOf({ type: 'result', html: table })).toContain(`<body>${table}</body>`);
  const html = '<A href=//a>a</a><LINK/rel=x><base\nhref=//b><meta><iframe\f src=//c></IFRAME><a\0><<a';
  expect(pageOf({ type: 'result', html })).toContain(
    '<body><x-A href=//a>a</x-a><x-LINK/rel=x><x-base\nhref=//b><x-meta><x-iframe\f src=//c></x-IFRAME><x-a\0><<x-a</body>',
  );
});

it('makes a table of a list of plain objects, with every cell as text', () => {
  const json = [
    { name: '<img src=x onerror=alert(1)>', n: 1 },
    { name: '\u202e', more: null },
  ];
  expect(pageOf({ type: 'result', json })).toContain(
    '<thead><tr><th scope="col">name</th><th scope="col">n</th><th scope="col">more</th></tr></thead>' +
      '<tbody><tr><td>&#60;img src=x onerror=alert(1)&#62;</td><td>1</td><td></td></tr>' +
      '<tr><td>⟦U+202E⟧</td><td></td><td></td></tr></tbody>',
  );
  for (const other of [[], [1], [{ a: {} }], { a: 1 }, 'text', undefined])
    expect(frameOf({ type: 'result', json: other })).toBeUndefined();
});

it('says what of a table it does not show', () => {
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`c${i}`, i]));
  const page = pageOf({ type: 'result', json: Array.from({ length: 502 }, () => wide) });
  expect(page).toContain('<p>Not shown: 2 more rows, 10 more columns.</p>');
});
