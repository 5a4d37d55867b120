import { readdirSync } from 'node:fs';

/** What is in a folder; nothing where there is no such folder. Throws what else the system says. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
