/**
 * How strong a wall is, weakest first: a plain process of the host, Linux namespaces on the host's kernel,
 * a container, a kernel of its own in user space, a machine of its own.
 */
export const ISOLATION_LEVELS = ['process', 'namespace', 'container', 'kernel', 'machine'] as const;

export type IsolationLevel = (typeof ISOLATION_LEVELS)[number];

/** True when `actual` is at least as strong as `wanted`. */
export function isAtLeast(actual: IsolationLevel, wanted: IsolationLevel): boolean {
  return ISOLATION_LEVELS.indexOf(actual) >= ISOLATION_LEVELS.indexOf(wanted);
}

/** The stronger of two floors; an absent one asks for nothing. */
export function strictestIsolation(
  a: IsolationLevel | undefined,
  b: IsolationLevel | undefined,
): IsolationLevel | undefined {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return isAtLeast(a, b) ? a : b;
}
