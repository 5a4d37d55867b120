import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokenChannel, dataHeader, type Frame, FrameReader, signalFrame } from './relayFrames.ts';

const hex = (text: string): Buffer => Buffer.from(text.replace(/\s/g, ''), 'hex');

/** Frames with the data of each put together, as they are only valid for a moment. */
function readAll(chunks: readonly Uint8Array[]): Frame[] {
  const reader = new FrameReader();
  const seen: Frame[] = [];
  for (const chunk of chunks) {
    for (const frame of reader.read(chunk)) {
      const last = seen.at(-1);
      if (frame.kind === 'data' && last?.kind === 'data' && last.id === frame.id) {
        seen[seen.length - 1] = { ...last, data: Buffer.concat([last.data, frame.data]) };
      } else {
        seen.push(frame.kind === 'data' ? { ...frame, data: Buffer.from(frame.data) } : frame);
      }
    }
  }
  return seen;
}

const SAID = hex(`
  01 00000000 01000000 01
  02 03000000 00000000
  05 03000000 05000000 68656c6c6f
  06 03000000 04000000 00000400
  04 02000000 04000000 6f000000
  07 03000000 00000000
  08 ffffffff 00000000
`);
const HEARD = [
  { kind: 'hello', id: 0, value: 1 },
  { kind: 'open', id: 3, value: 0 },
  { kind: 'data', id: 3, data: Buffer.from('hello') },
  { kind: 'credit', id: 3, value: 0x40000 },
  { kind: 'refused', id: 2, value: 111 },
  { kind: 'end', id: 3, value: 0 },
  { kind: 'reset', id: 0xffff_ffff, value: 0 },
];

describe('FrameReader', () => {
  it('reads frames, however they are cut', () => {
    expect(readAll([SAID])).toEqual(HEARD);
    expect(readAll(Array.from(SAID, (byte) => Buffer.of(byte)))).toEqual(HEARD);
    fc.assert(
      fc.property(fc.array(fc.nat(SAID.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), SAID.length];
        const chunks = at.slice(1).map((end, index) => SAID.subarray(at[index], end));
        expect(readAll(chunks)).toEqual(HEARD);
      }),
    );
  });

  it.each([
    ['type 0', '00 01000000 00000000'],
    ['type 9', '09 01000000 00000000'],
    ['no data', '05 01000000 00000000'],
    ['too much data', '05 01000000 01800000'],
    ['the greatest length', '05 01000000 ffffffff'],
    ['a hello that is too long', '01 00000000 02000000'],
    ['an open with a port', '02 01000000 02000000'],
    ['short credit', '06 01000000 03000000'],
    ['a reset with something on it', '08 01000000 01000000'],
    ['a refusal without a reason', '04 02000000 00000000'],
  ])('throws at the header: %s', (_, bytes) => {
    expect(() => readAll([hex(bytes)])).toThrow(BrokenChannel);
  });

  it('throws nothing else, whatever it reads', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (chunks) => {
        try {
          readAll([SAID, ...chunks]);
        } catch (error) {
          expect(error).toBeInstanceOf(BrokenChannel);
        }
      }),
    );
  });
});

it('writes the frames of our side', () => {
  expect(
    [
      signalFrame('open', 2, 8080),
      signalFrame('credit', 3, 65_536),
      signalFrame('end', 3),
      signalFrame('reset', 0xffff_fffe),
      dataHeader(3, 32_768),
    ].map((frame) => frame.toString('hex')),
  ).toEqual([
    '020200000002000000901f',
    '06030000000400000000000100',
    '070300000000000000',
    '08feffffff00000000',
    '050300000000800000',
  ]);
});
