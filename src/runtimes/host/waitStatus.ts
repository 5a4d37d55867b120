/** The exit code of a status as `wait4` gives it: the program's own, or 128 and the number of the signal. Pure. */
export function codeOf(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}
