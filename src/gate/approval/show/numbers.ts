/** A number as people read it: `5,000`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 line`, `5,000 lines`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}
