import { SandboxError } from '../errors.ts';

/** What a flag says in plain digits. Throws `INPUT_INVALID` for anything but a whole number within the bounds. */
export function wholeNumber(flag: string, written: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SandboxError('INPUT_INVALID', `${flag} is ${JSON.stringify(written)}.`, {
    hint: `Give a whole number from ${least} to ${most}.`,
  });
}
