import type { HeldResults } from '../../operations/batch/resultLine.ts';
import { untilNobodyIsAsked } from '../passOn.ts';

/** Where results go, one after another. Whoever has it says `await using`. */
export interface Results extends AsyncDisposable {
  /** What an earlier run has left there. */
  readonly held: HeldResults;
  readonly isTerminal: boolean;
  /** Makes room behind what is held. */
  begin(): Promise<void>;
  /** Resolves once the line is out of this process: killing it loses nothing of what was written before. */
  write(line: string): Promise<void>;
}

export const NO_RESULTS: HeldResults = { programs: new Map(), end: 0 };

/** Our own standard output. */
export function standardOutput(): Results {
  const { stdout } = process;
  return {
    held: NO_RESULTS,
    isTerminal: stdout.isTTY === true,
    begin: async () => {},
    async write(line) {
      if (stdout.isTTY) await untilNobodyIsAsked(stdout.fd);
      await new Promise<void>((resolve, reject) => {
        stdout.write(line, (error) => (error ? reject(error) : resolve()));
      });
    },
    async [Symbol.asyncDispose]() {},
  };
}
