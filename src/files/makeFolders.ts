import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder with those above it that are missing, and returns the topmost that it made; one that is there is what was
 * asked for. Throws what the system says. Node's own `recursive` never comes back where nobody can make folders, as below
 * `/proc`.
 */
export function makeFolders(path: string, mode = 0o777): string | undefined {
  try {
    return makeOne(path, mode);
  } catch (error) {
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
    const topmost = makeFolders(above, mode);
    const made = makeOne(path, mode);
    return topmost ?? made;
  }
}

function makeOne(path: string, mode: number): string | undefined {
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    if (!exists || !statSync(path).isDirectory()) throw error;
    return undefined;
  }
}
