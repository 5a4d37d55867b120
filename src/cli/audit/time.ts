import { SandboxError } from '../../errors.ts';

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time as a user writes it: ISO 8601, or how long ago. Throws `INPUT_INVALID`. */
export function timeFrom(flag: string, given: string, now = Date.now()): Date {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? [];
  if (count !== undefined && unit !== undefined) return new Date(now - Number(count) * (UNIT_MS[unit] ?? 0));
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(given);
  const time = new Date(isIso ? given : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time;
  throw new SandboxError(
    'INPUT_INVALID',
    `${flag} is ${JSON.stringify(given.slice(0, 100))}, which is no time.`,
    {
      hint: 'Give a date (2026-11-20), a time (2026-11-20T12:00:00Z), or how long ago it was (30m, 12h, 7d).',
    },
  );
}
