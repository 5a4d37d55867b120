import type { Unit } from '../row.ts';

/** Figures as people read them: three digits that count, and no more than a thousandth. */
export function formatNumber(value: number): string {
  const digits = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value) || 1))));
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

export function formatFigure(value: number, unit: Unit): string {
  return `${formatNumber(value)} ${unit}`;
}
