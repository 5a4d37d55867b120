import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Typed, Typing } from './typed.ts';

/** Given in these pieces, as a terminal may hand them over. */
function typed(...pieces: (string | Uint8Array)[]): Typed[] {
  const typing = new Typing();
  return pieces.flatMap((piece) => typing.take(Buffer.from(piece)));
}

const VOID = { kind: 'void' };

describe('what is typed', () => {
  it('is a line as soon as Enter is pressed', () => {
    expect(typed('y')).toEqual([]);
    expect(typed('y', '\r')).toEqual([{ kind: 'line', text: 'y' }]);
    expect(typed('yes\nn\r')).toEqual([
      { kind: 'line', text: 'yes' },
      { kind: 'line', text: 'n' },
    ]);
  });

  it('is void where it holds a paste, however it comes', () => {
    const paste = 'y\x1b[200~y\ry\r\x1b[201~\r';
    expect(typed(paste)).toEqual([VOID]);
    expect(typed(...paste)).toEqual([VOID]);
    expect(typed('\x1b[200~y\r\x1b[20', '1~y\r')).toEqual([VOID]);
    expect(typed('\x1b[200~y\r\x1b[201y\r', 'y\r')).toEqual([]);
  });

  it('is void where it holds a special key, a control character or what is no ASCII', () => {
    for (const other of [
      '\x1b[A',
      '\x1bOP',
      '\x1b[1;5D',
      '\x1by',
      '\x00',
      '\x1a',
      '\t',
      'é',
      '\x1b[M !!',
      '\x9b',
    ]) {
      expect([other, typed(other, '\r')]).toEqual([other, [VOID]]);
      expect([other, typed('y', other, '\r')]).toEqual([other, [VOID]]);
    }
  });

  it('stays void when it is deleted', () => {
    expect(typed('\x1b[A\x15y\r')).toEqual([VOID]);
    expect(typed('\x1b[A\x7f\x7f\x7f\x7fy\r')).toEqual([VOID]);
  });

  it('is void where it is longer than any answer', () => {
    expect(typed('y'.repeat(41), '\r')).toEqual([VOID]);
    expect(typed('x'.repeat(100_000), '\x7f'.repeat(100_000), 'y\r')).toEqual([VOID]);
  });

  it('is cancelled by Ctrl-C anywhere, and by Ctrl-D', () => {
    const cancelled = [{ kind: 'cancelled', key: 'Ctrl-C' }];
    for (const before of ['', 'y', '\x1b', '\x1b[', '\x1b[200~', '\x1bO'])
      expect(typed(before, '\x03')).toEqual(cancelled);
    expect(typed('y\x04')).toEqual([{ kind: 'cancelled', key: 'Ctrl-D' }]);
  });

  it('means the same in whatever pieces it comes', () => {
    const key = fc.constantFrom(
      ...[
        'y',
        'n',
        '\r',
        '\n',
        '\x1b',
        '[',
        '200~',
        '201~',
        '\x1b[200~',
        '\x1b[201~',
        'O',
        '\x7f',
        '\x15',
        '\x03',
        'é',
      ],
    );
    fc.assert(
      fc.property(fc.array(key, { maxLength: 30 }), (keys) => {
        const whole = Buffer.from(keys.join(''));
        expect(typed(...[...whole].map((byte) => Buffer.of(byte)))).toEqual(typed(whole));
      }),
    );
  });

  it('is never a line of what is pasted', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const pasted = text.replaceAll('\x1b', '').replaceAll('\x03', '');
        expect(typed('\x1b[200~', pasted, '\x1b[201~', '\r')).toEqual([VOID]);
      }),
    );
  });
});
