import { SandboxError } from '../../errors.ts';

/** One word that every POSIX shell reads back exactly as it is. Throws `INPUT_INVALID` for a NUL. */
export function shellWord(word: string): string {
  if (!word.includes('\0')) return `'${word.replaceAll("'", "'\\''")}'`;
  throw new SandboxError('INPUT_INVALID', 'A variable, an argument or a path holds a NUL character.', {
    hint: 'Leave it out.',
  });
}
