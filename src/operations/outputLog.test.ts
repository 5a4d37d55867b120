import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOG_START, type LogPosition, OutputLog } from './outputLog.ts';

type Written =
  | { readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array }
  | { readonly rich: string };

const written = fc.array(
  fc.oneof(
    fc.record({
      stream: fc.constantFrom<'stdout' | 'stderr'>('stdout', 'stderr'),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 200 }),
    }),
    fc.record({ rich: fc.string({ minLength: 1, maxLength: 20 }) }),
  ),
  { maxLength: 40 },
);

function logWith(all: readonly Written[], capacity = 1_000_000): OutputLog {
  const log = new OutputLog(capacity);
  for (const one of all) write(log, one);
  return log;
}

function write(log: OutputLog, one: Written): void {
  if ('rich' in one) log.pushRich(one.rich);
  else log.push(one.stream, one.bytes);
}

/** What somebody reads who is told so many bytes at a time: all of it, in its order, and where he stands after each. */
function read(log: OutputLog, from: LogPosition, limit: number) {
  const told = { stdout: '', stderr: '', rich: [] as string[], dropped: { stdout: 0, stderr: 0 } };
  const order: string[] = [];
  const positions: LogPosition[] = [from];
  for (let at = from; ; ) {
    const entries = log.after(at, limit);
    if (entries.length === 0) return { ...told, order: order.join(''), positions };
    for (const entry of entries) {
      at = entry.next;
      positions.push(at);
      if (entry.type === 'rich') {
        told.rich.push(entry.json);
        order.push(`<${entry.json}>`);
      } else if (entry.type === 'gap') told.dropped[entry.stream] += entry.droppedBytes;
      else {
        const hex = Buffer.from(entry.bytes).toString('hex');
        told[entry.stream] += hex;
        order.push(hex);
      }
    }
  }
}

const hex = (all: readonly Written[], stream: string): string =>
  all
    .map((one) => ('rich' in one || one.stream !== stream ? '' : Buffer.from(one.bytes).toString('hex')))
    .join('');

describe('a log of output', () => {
  it('tells all of it in its order, whoever reads how much at a time', () => {
    fc.assert(
      fc.property(written, fc.integer({ min: 1, max: 500 }), (all, limit) => {
        const told = read(logWith(all), LOG_START, limit);
        expect(told).toMatchObject({
          ...{ stdout: hex(all, 'stdout'), stderr: hex(all, 'stderr') },
          rich: all.flatMap((one) => ('rich' in one ? [one.rich] : [])),
          order: all
            .map((one) => ('rich' in one ? `<${one.rich}>` : Buffer.from(one.bytes).toString('hex')))
            .join(''),
          dropped: { stdout: 0, stderr: 0 },
        });
      }),
    );
  });

  it('goes on from wherever somebody was cut off, without loss and without repetition, also while more comes', () => {
    fc.assert(
      fc.property(written, written, fc.nat(), (before, after, cut) => {
        const log = logWith(before);
        const first = read(log, LOG_START, 64);
        const at = first.positions[cut % first.positions.length] ?? LOG_START;
        for (const one of after) write(log, one);
        const all = read(log, LOG_START, 64);
        const rest = read(log, at, 64);
        for (const stream of ['stdout', 'stderr'] as const) {
          expect(all[stream].slice(0, 2 * at[stream]) + rest[stream]).toBe(all[stream]);
        }
        expect([...all.rich.slice(0, at.rich), ...rest.rich]).toEqual(all.rich);
      }),
    );
  });

  it('drops the oldest where there is no room, and says how much of it somebody has missed', () => {
    fc.assert(
      fc.property(written, fc.integer({ min: 300, max: 2000 }), fc.nat(), (all, capacity, cut) => {
        const whole = logWith(all);
        const small = logWith(all, capacity);
        const { positions } = read(whole, LOG_START, 64);
        const at = positions[cut % positions.length] ?? LOG_START;
        const told = read(small, at, 64);
        for (const stream of ['stdout', 'stderr'] as const) {
          const missed = 2 * (at[stream] + told.dropped[stream]);
          expect(hex(all, stream).slice(missed)).toBe(told[stream]);
        }
        expect(small.heldBytes).toBeLessThanOrEqual(Math.max(capacity, 33_024));
      }),
    );
  });

  it('is not larger for a program that writes single bytes to both streams in turns', () => {
    const log = new OutputLog(1024 ** 2);
    for (let i = 0; i < 50_000; i++) log.push(i % 2 === 0 ? 'stdout' : 'stderr', Uint8Array.of(i % 256));
    expect(log.heldBytes).toBeLessThanOrEqual(1024 ** 2);
    const one = new OutputLog(1024 ** 2);
    for (let i = 0; i < 50_000; i++) one.push('stdout', Uint8Array.of(i % 256));
    // Half of what is set aside may be empty.
    expect(one.heldBytes).toBeLessThan(120_000);
  });

  it('hands out pages of one stream, and what is not kept any more as dropped', () => {
    const log = logWith([
      { stream: 'stdout', bytes: Buffer.from('one') },
      { stream: 'stderr', bytes: Buffer.from('beside') },
      { stream: 'stdout', bytes: Buffer.from(' two') },
    ]);
    expect(log.page({ offset: 1, limit: 5 })).toEqual({
      ...{ stream: 'stdout', text: 'ne tw', bytes: Buffer.from('ne tw'), offset: 1, nextOffset: 6 },
      ...{ totalBytes: 7, droppedBytes: 0, ended: false },
    });
    log.end();
    expect(log.page({ stream: 'stderr' })).toMatchObject({ text: 'beside', ended: true });
    const small = new OutputLog(300);
    small.push('stdout', Buffer.from('gone'));
    small.push('stderr', Buffer.from('here'));
    small.push('stdout', Buffer.from('kept'));
    expect(small.page()).toMatchObject({ text: 'kept', offset: 4, droppedBytes: 4, totalBytes: 8 });
  });

  it('wakes whoever waits for news', async () => {
    const log = new OutputLog(1000);
    const changed = log.changed();
    log.push('stdout', Buffer.from('x'));
    await changed;
    const ended = log.changed();
    log.end();
    await ended;
    expect(log.ended).toBe(true);
  });

  it('keeps a copy of what it is given, and gives copies', () => {
    const bytes = Buffer.from('abc');
    const log = new OutputLog(1000);
    log.push('stdout', bytes);
    bytes.fill(0);
    const [entry] = log.after(LOG_START, 10);
    if (entry?.type === 'output') entry.bytes.fill(0);
    expect(log.page().text).toBe('abc');
  });
});
