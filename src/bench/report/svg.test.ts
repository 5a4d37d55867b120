import { describe, expect, it } from 'vitest';
import type { Measured } from '../row.ts';
import type { MeasuredRow } from './report.ts';
import { escapeXml, latencySvg } from './svg.ts';

const measured: Measured = {
  status: 'measured',
  ours: { n: 20, p50: 1, p95: 100, min: 0.5 },
  baseline: { n: 20, p50: 10, p95: 20, min: 8, what: 'bare <python3>' },
  ratio: 0.1,
};

function rowOf(name: string, changed: Partial<MeasuredRow> = {}): MeasuredRow {
  return { name, what: 'What is done.', unit: 'ms', result: measured, ...changed };
}

function pictureOf(...rows: MeasuredRow[]): string {
  return latencySvg({ rows, pairs: 20 });
}

describe('the picture of latencies', () => {
  it('has a bar to the median, a line to the 95th percentile and a mark at the baseline, all on one scale', () => {
    const picture = pictureOf(rowOf('bubblewrap.python.warm'));
    const number = (pattern: RegExp): number => Number(pattern.exec(picture)?.[1]);
    const start = number(/<rect class="warm" x="([\d.]+)"/);
    const median = start + number(/<rect class="warm"[^>]* width="([\d.]+)"/);
    const percentile = number(/<line class="spread"[^>]* x2="([\d.]+)"/);
    const bare = number(/<line class="baseline" x1="([\d.]+)"/);
    // From 1 to 10 and from 10 to 100 is as far.
    expect(bare - median).toBeCloseTo(percentile - bare, 0);
    expect(median).toBeGreaterThan(start);
    expect(percentile).toBeLessThan(800);
  });

  it('says in words what it shows, for who does not see it', () => {
    const picture = pictureOf(rowOf('bubblewrap.python.warm'));
    expect(picture).toContain('aria-labelledby="title description"');
    expect(picture).toContain(
      '<desc id="description">Medians: bubblewrap.python.warm 1 ms, bare &lt;python3&gt; 10 ms.</desc>',
    );
  });

  it('has only rows that took time', () => {
    const picture = pictureOf(
      rowOf('local.python.cold'),
      rowOf('bubblewrap.python.idle_memory', { unit: 'MB' }),
      rowOf('gvisor.python.cold', { result: { status: 'skipped', reason: 'There is no runsc.' } }),
    );
    expect(picture.match(/<text class="label"[^>]*>[^<]*/g)).toEqual([
      expect.stringContaining('local.python.cold'),
    ]);
  });

  it('is a picture also where nothing was measured', () => {
    expect(pictureOf()).toMatch(/<desc id="description">Nothing was measured\.<\/desc>[\s\S]*<\/svg>\n$/);
    expect(pictureOf()).not.toMatch(/NaN|Infinity/);
  });

  it('holds no text that could be markup', () => {
    const picture = pictureOf(rowOf('</text><script>alert(1)</script>"\'&'));
    expect(picture).not.toContain('<script>');
    expect(picture).toContain('&lt;/text&gt;&lt;script&gt;');
    expect(escapeXml(`<a b="c" d='e'>&amp;`)).toBe('&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;amp;');
  });
});
