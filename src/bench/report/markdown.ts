import { cellsOf } from './cells.ts';
import type { BenchReport } from './report.ts';

const HEADINGS = ['row', 'ratio', 'must', 'aim', 'p50', 'p95', 'min', 'baseline p50', 'n'] as const;

/** The rows that were measured, as a table of a document. The names are ours, so nothing has to be escaped. */
export function markdownTable({ rows }: Pick<BenchReport, 'rows'>): string {
  const lines = rows
    .filter(({ result }) => result.status === 'measured')
    .map(cellsOf)
    .map(({ name, ratio, must, aim, p50, p95, min, baseline, n }) => [
      `\`${name}\``,
      ...[ratio, must, aim, p50, p95, min, baseline, n],
    ]);
  return [HEADINGS, HEADINGS.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |'))
    .join('\n');
}

/** How it was measured, in a sentence. */
export function howMeasured({ pairs, machine, measuredAt }: BenchReport): string {
  const { cores, memoryMb, processor, system, node, python, glovebox } = machine;
  const interpreters = [
    `Node ${node.replace(/^v/, '')}`,
    ...(python === undefined ? [] : [`Python ${python}`]),
  ];
  return (
    `Medians of ${pairs} interleaved pairs in one run (less where a single one takes seconds) on ${measuredAt.slice(0, 10)}, with ` +
    `glovebox ${glovebox}, ${interpreters.join(' and ')}, ${cores} cores (${processor}), ${Math.round(memoryMb / 1024)} GB, ${system}; ` +
    'the ratio is ours to the baseline, median by median of the same run.'
  );
}
