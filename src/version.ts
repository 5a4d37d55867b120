import { readFileSync } from 'node:fs';

let version: string | undefined;

/** This package's version, from its own `package.json`. */
export function packageVersion(): string {
  version ??= readVersion(import.meta.url);
  return version;
}

/** From the nearest manifest above that has one: a built file may be deeper down than its source. */
function readVersion(from: string): string {
  const file = new URL('package.json', from);
  const { version } = JSON.parse(readIfThere(file) ?? '{}') as { version?: string };
  return version ?? readVersion(new URL('..', file).href);
}

function readIfThere(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
