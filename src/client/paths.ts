import { SandboxError } from '../errors.ts';

/** The path of a sandbox. Throws `SANDBOX_NOT_FOUND` for what can be no id: it must not lead anywhere else. */
export function sandboxPath(id: unknown): string {
  if (isId(id)) return `sandboxes/${id}`;
  const shown = String(id).slice(0, 100);
  throw new SandboxError('SANDBOX_NOT_FOUND', `There is no sandbox ${JSON.stringify(shown)}.`, {
    hint: 'Take an id that createSandbox resolved to; list() names those that live.',
    details: { sandboxId: shown },
  });
}

/** The path of an execution. Throws `INPUT_INVALID` for what can be no id. */
export function executionPath(id: unknown): string {
  if (isId(id)) return `executions/${id}`;
  const shown = JSON.stringify(String(id).slice(0, 100));
  throw new SandboxError('INPUT_INVALID', `There is no execution ${shown}.`, {
    hint: 'Take the id from meta.executionId of a result, or from onStart.',
  });
}

/** One step of a path, of an id that the server gave. */
export function idPath(id: string): string {
  if (isId(id)) return id;
  throw new SandboxError('SANDBOX_FAILED', 'The server gave an id that is none.', {
    hint: 'Check that the address is that of `glovebox serve`.',
  });
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(id);
}
