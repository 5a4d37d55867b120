import Table from 'cli-table3';
import { cellsOf, remarksOf } from '../../bench/report/cells.ts';
import type { BenchReport } from '../../bench/report/report.ts';
import { forTerminal } from '../terminal.ts';
import { wrap } from '../wrap.ts';

/** The report for people. What it holds of errors comes from programs, so nothing of it takes effect on the terminal. */
export function benchTable({ rows, machine, pairs }: BenchReport): string {
  const table = new Table({
    head: ['row', 'ratio', 'must', 'aim', 'p50', 'p95', 'min', 'baseline', 'n'],
    colAligns: ['left', ...Array.from({ length: 8 }, () => 'right' as const)],
    style: { head: [], border: [], compact: true },
  });
  for (const row of rows) {
    const { name, ratio, must, aim, p50, p95, min, baseline, n } = cellsOf(row);
    table.push([name, ratio, must, aim, p50, p95, min, baseline, n]);
  }
  const { system, processor, cores, node, python = 'none' } = machine;
  const where = `${pairs} interleaved pairs; ${system}, ${cores} × ${processor}, Node ${node.replace(/^v/, '')}, Python: ${python}.`;
  const remarks = [where, ...rows.flatMap(remarksOf)];
  return [table.toString(), '', ...remarks.flatMap((remark) => wrap(forTerminal(remark), '', '  '))].join(
    '\n',
  );
}
