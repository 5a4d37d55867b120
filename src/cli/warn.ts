import { forTerminal } from './terminal.ts';

/** One line on standard error: what the user should know, though it goes on. */
export function warn(warning: string): void {
  process.stderr.write(`glovebox: warning: ${forTerminal(warning)}\n`);
}

/** Somebody is asked whom this process has no terminal for. */
export function tellWhereToAnswer({
  id,
  risk,
}: {
  readonly id: string;
  readonly risk: { readonly timeoutSec: number };
}): void {
  process.stderr.write(
    `glovebox: A person is asked, and has ${risk.timeoutSec} seconds to answer, at a terminal: glovebox approvals answer ${id}\n`,
  );
}
