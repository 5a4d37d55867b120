import { CommanderError } from 'commander';
import { isSandboxError, SandboxError } from '../errors.ts';
import { forTerminal } from './terminal.ts';

/** The exit status that says that Glovebox itself failed. */
export const FAILED = 125;

/** The exit status when nobody reads our output any more: 128 and SIGPIPE's number, as a shell shows it. */
export const NO_READER = 141;

/** What to say when our own output cannot be written. */
export function cannotWrite(error: Error): SandboxError {
  return new SandboxError('INPUT_INVALID', `Standard output cannot be written: ${error.message}`, {
    hint: 'Check where it goes.',
    cause: error,
  });
}

/** One sentence and a hint on standard error; with `json`, the error object on standard output. */
export function printError(error: unknown, { json }: { readonly json: boolean }): void {
  const known = toSandboxError(error);
  if (json) {
    process.stdout.write(`${JSON.stringify(known.toJSON())}\n`);
    return;
  }
  process.stderr.write(`glovebox: ${forTerminal(known.message)}\n  ${forTerminal(known.hint)}\n`);
}

function toSandboxError(error: unknown): SandboxError {
  if (isSandboxError(error)) return error;
  if (error instanceof CommanderError) {
    return new SandboxError('INPUT_INVALID', error.message.replace(/^error: /, '').replace(/\n/g, ' '), {
      hint: 'Run: glovebox --help',
    });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new SandboxError('SANDBOX_FAILED', `Unexpected: ${message}`, {
    hint: 'This is a bug of Glovebox: please report it with the command that you ran.',
    details: { stack: error instanceof Error ? error.stack : undefined },
    cause: error,
  });
}
