/** The refusals of file operations, which read the same on every runtime. */
import { SandboxError } from '../../errors.ts';

/** The refusal of something that is there and is no regular file. */
export function notRegular(path: string, what: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} is ${what}, not a regular file.`, {
    hint: 'Only regular files can be read and written.',
    details: { path },
  });
}

/** The refusal to remove a folder where only a file was meant. */
export function needsRecursive(path: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} is a folder, not a file.`, {
    hint: 'Remove it with all that is in it with recursive: true.',
    details: { path },
  });
}

/** The refusal of what a program changes faster than anybody can follow. */
export function changesAllTheTime(path: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `A program keeps changing ${JSON.stringify(path)}.`, {
    hint: 'Let the program end first.',
    details: { path },
  });
}

/** The refusal of a path at which there is nothing. */
export function missing(path: string, cause?: unknown): SandboxError {
  return new SandboxError('FILE_NOT_FOUND', `There is no ${JSON.stringify(path)} in the workspace.`, {
    hint: 'List the folder to see what is there.',
    details: { path },
    cause,
  });
}

/** The refusal of a file whose permissions the program took away. */
export function closedToUs(path: string, cause?: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} may not be opened.`, {
    hint: 'The program took its permissions away; let it set them back.',
    details: { path },
    cause,
  });
}

/** The refusal of content for which there is no room. */
export function tooFull(path: string, cause?: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', `${JSON.stringify(path)} does not fit into the workspace.`, {
    hint: 'Ask for a larger disk with diskMb (SANDBOX_DISK_MB), or remove files.',
    details: { path },
    cause,
  });
}

/** The refusal of a name that no file system takes. */
export function nameTooLong(cause?: unknown): SandboxError {
  return new SandboxError('INPUT_INVALID', 'A component of the path is too long.', {
    hint: 'Use names of at most 255 bytes.',
    cause,
  });
}

/** The refusal of a file that is larger than the caller allows. */
export function tooLarge(path: string, size: number, maxBytes: number): SandboxError {
  return new SandboxError(
    'INPUT_INVALID',
    `${JSON.stringify(path)} has ${size} bytes; at most ${maxBytes} can be read.`,
    { hint: 'Let the program write a smaller file, or split it.', details: { path, size, maxBytes } },
  );
}
