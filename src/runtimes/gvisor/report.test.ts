import { describe, expect, it } from 'vitest';
import { readComplaint, readReport } from './report.ts';

function report(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeInt32LE(number, index * 4);
  return bytes;
}

describe('the report of the first process', () => {
  it.each([
    [0x0000, 0],
    [0x0200, 2],
    [0xff00, 255],
    [0x0009, 137],
    [0x008b, 139],
  ])('says of status %i that the code is %i', (status, code) => {
    expect(readReport(report(status))).toEqual({ code });
  });

  it('says why there was no program', () => {
    expect(readReport(report(-2, 0x7d00))).toEqual({ notStarted: 2 });
  });

  it.each([0, 3])('of %i bytes is none: the sandbox ended first', (length) => {
    expect(readReport(Buffer.alloc(length))).toBeUndefined();
  });
});

describe('what runsc complains of', () => {
  it('is in its log, each thing once', () => {
    const log = [
      '{"msg":"creating container: no \\"space\\"","level":"error","time":"now"}',
      '{"msg":"creating container: no \\"space\\"","level":"error","time":"later"}\n',
      '{"level":"error","msg":"and then\\n"}',
    ].join('');
    expect(readComplaint(log, 'panic: never mind')).toBe('creating container: no "space"; and then');
  });

  it('is the log as it is where that is no JSON', () => {
    expect(readComplaint('FATAL ERROR: no platform\n', '')).toBe('FATAL ERROR: no platform');
  });

  it("is the beginning of Go's last words where it said nothing itself", () => {
    const complaint = readComplaint('', `panic: out of luck\n\n${'goroutine 1\n'.repeat(5000)}`);
    expect(complaint).toMatch(/^panic: out of luck\n/);
    expect(complaint).toHaveLength(1000);
  });

  it('may be nothing', () => {
    expect(readComplaint('', '\n')).toBeUndefined();
  });
});
