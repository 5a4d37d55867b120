import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where this package is, and the version in its own `package.json`. */
interface Manifest {
  readonly file: URL;
  readonly version: string;
}

let manifest: Manifest | undefined;

/** This package's version, from its own `package.json`. */
export function packageVersion(): string {
  manifest ??= findManifest(import.meta.url);
  return manifest.version;
}

/** Where a file of this package is that is no code; `path` is relative to the package's own folder. */
export function packageFile(path: string): string {
  manifest ??= findManifest(import.meta.url);
  return fileURLToPath(new URL(path, manifest.file));
}

/** The nearest manifest above that has a version: a built file may be deeper down than its source. */
function findManifest(from: string): Manifest {
  const file = new URL('package.json', from);
  const { version } = JSON.parse(readIfThere(file) ?? '{}') as { version?: string };
  return version === undefined ? findManifest(new URL('..', file).href) : { file, version };
}

function readIfThere(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
