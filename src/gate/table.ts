/** A table that is looked up by names from the code: `constructor` and `__proto__` are in it only if they are meant. */
export function table<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T | undefined>> {
  return Object.assign(Object.create(null), entries);
}
