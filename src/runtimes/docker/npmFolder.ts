import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { ContextFile } from './build.ts';

/** Beside Node.js where its makers put npm: whole, and with nothing outside of it. */
const FOLDER = 'lib/node_modules/npm';

/** What nobody reads in a sandbox. */
const NOT_NEEDED = /^(?:docs|man)\//;

/**
 * npm for the image, as files of the build's context below `npm/`: what came with this Node.js, or with the one that runs
 * us, since it is the same on every system. Where neither has one there is only a file that says so.
 */
export async function npmForImage(node: string): Promise<ContextFile[]> {
  for (const program of [node, process.execPath]) {
    const folder = join(dirname(dirname(await realpath(program))), FOLDER);
    if (await isFile(join(folder, 'bin/npm-cli.js'))) return filesOf(folder);
  }
  return [{ name: 'npm/not-here', mode: 0o644, size: 0, content: [] }];
}

async function filesOf(folder: string): Promise<ContextFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !NOT_NEEDED.test(relative(folder, path).replaceAll(sep, '/')))
    .sort();
  return Promise.all(
    paths.map(async (path): Promise<ContextFile> => {
      const { size, mode } = await stat(path);
      return {
        name: `npm/${relative(folder, path).replaceAll(sep, '/')}`,
        mode: (mode & 0o100) === 0 ? 0o644 : 0o755,
        size,
        content: bytesOf(path),
      };
    }),
  );
}

/** Opened when it is read and not before. */
async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isFile(),
    () => false,
  );
}
