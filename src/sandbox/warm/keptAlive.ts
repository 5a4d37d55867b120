/** The longest delay that a timer of Node holds. */
const LONG_MS = 2 ** 31 - 1;

/** Resolves or rejects as the work does; this process does not end before, although drivers hold on to nothing of theirs. */
export async function keptAlive<T>(work: Promise<T>): Promise<T> {
  const holding = setInterval(() => {}, LONG_MS);
  try {
    return await work;
  } finally {
    clearInterval(holding);
  }
}
