import { isDeepStrictEqual } from 'node:util';
import { type ErrorCode, isSandboxError } from '../errors.ts';

/** A promise that does not hold; the message is what was seen. */
export class BrokenPromise extends Error {}

/** Throws `because` unless the claim is true. */
export function must(claim: boolean, because: string): asserts claim {
  if (!claim) throw new BrokenPromise(because);
}

/** Throws with both values unless they are deeply equal. */
export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  must(isDeepStrictEqual(actual, expected), `${what} is ${shown(actual)} instead of ${shown(expected)}`);
}

/** Throws unless the promise is rejected with this code and a hint. */
export async function mustReject(attempt: Promise<unknown>, code: ErrorCode, what: string): Promise<void> {
  try {
    await attempt;
  } catch (error) {
    must(isSandboxError(error), `${what} failed with ${String(error)} instead of ${code}`);
    must(error.code === code, `${what} failed with ${error.code} (${error.message}) instead of ${code}`);
    must(error.hint.length > 0, `${what} was refused without a hint`);
    return;
  }
  throw new BrokenPromise(`${what} succeeded instead of ${code}`);
}

/** A value as short text. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 200)} … ${text.slice(-80)}` : text;
}
