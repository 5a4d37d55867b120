/**
 * Does what a command does. Ctrl-C and its like cancel it, by the signal, and nothing is left behind then. Resolves to
 * the exit status, which is 130 when it was cancelled.
 */
export async function cancellable(command: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, abort);
  try {
    return await command(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    process.stderr.write('glovebox: cancelled\n');
    return 130;
  } finally {
    for (const name of signals) process.off(name, abort);
  }
}

/** The same for a command that hands our standard input and output to a program. */
export function cancellableProgram(command: (signal: AbortSignal) => Promise<number>): Promise<number> {
  return cancellable(async (signal) => {
    try {
      return await command(signal);
    } catch (error) {
      // Our own output failed, and that has been told.
      if (typeof process.exitCode === 'number' && process.exitCode !== 0) return process.exitCode;
      throw error;
    } finally {
      // Ours may still be open on a terminal's or a caller's pipe that nobody will write to.
      process.stdin.destroy();
    }
  });
}
