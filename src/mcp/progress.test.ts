import { expect, it } from 'vitest';
import { progressNotes, shownText } from './progress.ts';

it('shows what has no form of its own as an escape, and keeps lines and tabs', () => {
  expect(shownText('a\tb\nc\r\u001b[2J\u0000\u0085\u202e\u2028\ufeff\ud800 é 漢 😀')).toBe(
    'a\tb\nc\\u{d}\\u{1b}[2J\\u{0}\\u{85}\\u{202e}\\u{2028}\\u{feff}\\u{d800} é 漢 😀',
  );
});

it('shows at most a kilobyte, the newest, and no half of a character', () => {
  const shown = shownText(`${'漢'.repeat(1000)}x`);
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1024);
  expect(shown).toBe(`${'漢'.repeat(341)}x`.slice(-shown.length));
  expect(shownText('\u0007'.repeat(800)).length).toBeLessThanOrEqual(1024);
});

it('makes no notes where none were asked for', () => {
  expect(progressNotes({ mcpReq: { _meta: {} } } as never)).toBeUndefined();
});

it('tells less often than there is output, never less than before, and nothing after the end', async () => {
  const sent: { progress: number; message: string }[] = [];
  let tell = (): void => {};
  const mcpReq = {
    _meta: { progressToken: 1 },
    async notify({ params }: { params: { progress: number; message: string } }) {
      sent.push({ progress: params.progress, message: params.message });
      tell();
    },
  };
  const notes = progressNotes({ mcpReq } as never, 1);
  const print = (text: string) => notes?.onOutput({ stream: 'stdout', text, bytes: Buffer.from(text) });
  const noted = () =>
    new Promise<void>((resolve) => {
      tell = resolve;
    });
  for (const text of ['a', 'b', 'c']) print(text);
  await noted();
  print('d');
  await noted();
  print('e');
  notes?.end();
  expect(sent).toEqual([
    { progress: 3, message: 'abc' },
    { progress: 4, message: 'abcd' },
  ]);
});
