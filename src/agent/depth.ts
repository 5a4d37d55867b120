/** Deeper values are not taken: whatever walks through them, and the model's own service, would give up. */
export const MAX_DEPTH = 64;

/** Whether a JSON value is nested deeper than `MAX_DEPTH`. Pure. */
export function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth >= MAX_DEPTH || Object.values(value).some((inner) => isTooDeep(inner, depth + 1));
}
