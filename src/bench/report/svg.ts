import type { Measured } from '../row.ts';
import { formatFigure, formatNumber } from './format.ts';
import type { BenchReport, MeasuredRow } from './report.ts';

/** A row that took time. */
interface Bar {
  readonly name: string;
  readonly result: Measured;
}

const WIDTH = 800;
const LABELS = 270;
/** Room for the figures behind the longest bar. */
const FIGURES = 130;
const TOP = 64;
const LINE = 26;
const BAR = 14;
const BOTTOM = 48;

/**
 * Latency of each row as a bar on a logarithmic scale, with a thin line to its 95th percentile and a mark where its own
 * baseline is. One picture for light and dark pages, and for who cannot see it a title and a description.
 */
export function latencySvg(report: Pick<BenchReport, 'rows' | 'pairs'>): string {
  const bars = report.rows.flatMap(barOf);
  const scale = scaleFor(bars);
  const height = TOP + bars.length * LINE + BOTTOM;
  const bottom = TOP + bars.length * LINE;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">`,
    '<title id="title">Latency of one program, by runtime</title>',
    `<desc id="description">${escapeXml(describe(bars))}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    '<text class="heading" x="12" y="24">Latency of one program, by runtime</text>',
    `<text class="small" x="12" y="44">milliseconds, logarithmic; bar: median of ${report.pairs} pairs; thin line: 95th percentile; mark: what it is compared with</text>`,
    ...scale.ticks.flatMap((tick) => [
      `<line class="grid" x1="${scale.x(tick)}" x2="${scale.x(tick)}" y1="${TOP - 6}" y2="${bottom}"/>`,
      `<text class="small" x="${scale.x(tick)}" y="${bottom + 16}" text-anchor="middle">${formatNumber(tick)}</text>`,
    ]),
    ...bars.flatMap((bar, index) => drawBar(bar, TOP + index * LINE, scale)),
    ...KINDS.flatMap(({ kind, meaning }, index) =>
      drawLegend(kind, meaning, LABELS + index * 170, bottom + 28),
    ),
    '</svg>',
  ].join('\n')}\n`;
}

function barOf({ name, unit, result }: MeasuredRow): Bar[] {
  return unit === 'ms' && result.status === 'measured' ? [{ name, result }] : [];
}

interface Scale {
  readonly ticks: readonly number[];
  x(milliseconds: number): number;
}

/** Whole decades around all that is shown. */
function scaleFor(bars: readonly Bar[]): Scale {
  const shown = bars.flatMap(({ result: { ours, baseline } }) => [
    ours.p50,
    ours.p95,
    baseline?.p50 ?? ours.p50,
  ]);
  const first = Math.floor(Math.log10(Math.min(1, ...shown) / 1.5));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(10, ...shown))));
  const room = WIDTH - LABELS - FIGURES;
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index)),
    x: (milliseconds) => round(LABELS + (room * (Math.log10(milliseconds) - first)) / (last - first)),
  };
}

function drawBar({ name, result: { ours, baseline, ratio } }: Bar, y: number, { x }: Scale): string[] {
  const middle = y + BAR / 2;
  const text = middle + 4;
  const figures = `${formatFigure(ours.p50, 'ms')}${ratio === undefined ? '' : ` (${formatNumber(ratio)} ×)`}`;
  const end = Math.max(x(ours.p95), x(baseline?.p50 ?? ours.p50));
  return [
    `<text class="label" x="${LABELS - 10}" y="${text}" text-anchor="end">${escapeXml(name)}</text>`,
    `<rect class="${kindOf(name)}" x="${LABELS}" y="${y}" width="${round(x(ours.p50) - LABELS)}" height="${BAR}" rx="2"/>`,
    `<line class="spread" x1="${x(ours.p50)}" x2="${x(ours.p95)}" y1="${middle}" y2="${middle}"/>`,
    ...(baseline === undefined
      ? []
      : [
          `<line class="baseline" x1="${x(baseline.p50)}" x2="${x(baseline.p50)}" y1="${y - 3}" y2="${y + BAR + 3}"/>`,
        ]),
    `<text class="figures" x="${end + 8}" y="${text}">${escapeXml(figures)}</text>`,
  ];
}

const KINDS = [
  { kind: 'warm', meaning: 'made ready before' },
  { kind: 'cold', meaning: 'made for the program' },
  { kind: 'peer', meaning: 'another package' },
] as const;

function kindOf(name: string): (typeof KINDS)[number]['kind'] {
  if (name.startsWith('srt.')) return 'peer';
  return name.split('.').includes('warm') ? 'warm' : 'cold';
}

function drawLegend(kind: string, meaning: string, x: number, y: number): string[] {
  return [
    `<rect class="${kind}" x="${x}" y="${y}" width="12" height="12" rx="2"/>`,
    `<text class="small" x="${x + 18}" y="${y + 10}">${meaning}</text>`,
  ];
}

function describe(bars: readonly Bar[]): string {
  if (bars.length === 0) return 'Nothing was measured.';
  const sentences = bars.map(({ name, result: { ours, baseline } }) => {
    const beside = baseline === undefined ? '' : `, ${baseline.what} ${formatFigure(baseline.p50, 'ms')}`;
    return `${name} ${formatFigure(ours.p50, 'ms')}${beside}`;
  });
  return `Medians: ${sentences.join('; ')}.`;
}

/** Text that stays text inside an element or between double quotes. */
export function escapeXml(text: string): string {
  const escapes: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
  };
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? character);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const STYLE = [
  'text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}',
  '.heading{font-size:16px;font-weight:600}.small{font-size:12px;fill:#59636e}.figures{font-size:12px}',
  '.page{fill:#fff}.grid{stroke:#d1d9e0}.spread{stroke:#59636e;stroke-width:2}',
  '.baseline{stroke:#cf222e;stroke-width:2.5}.warm{fill:#1a7f37}.cold{fill:#0969da}.peer{fill:#818b98}',
  '@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#3d444d}',
  '.spread{stroke:#9198a1}.baseline{stroke:#ff7b72}.warm{fill:#3fb950}.cold{fill:#4493f8}.peer{fill:#7d8590}}',
].join('');
