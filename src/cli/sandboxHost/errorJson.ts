import { isSandboxError } from '../../errors.ts';
import { log } from './log.ts';
import type { ErrorJson } from './protocol.ts';

/** An error as it travels. What is not ours is a bug, and its stack is for the log. */
export function errorJson(error: unknown): ErrorJson {
  if (isSandboxError(error)) {
    const { code, message, hint, details } = error;
    return { code, message, hint, details };
  }
  const message = error instanceof Error ? error.message : String(error);
  log(`unexpected: ${error instanceof Error ? error.stack : message}`);
  return {
    code: 'SANDBOX_FAILED',
    message: `Unexpected: ${message}`,
    hint: 'This is a bug of Glovebox: please report it with the command that you ran.',
    details: {},
  };
}
