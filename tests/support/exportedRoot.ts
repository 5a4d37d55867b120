/** A root file system in a folder, as people make one: the image of containers, exported by its engine. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { DEFAULT_DOCKER_SETTINGS } from '../../src/runtimes/docker/settings.ts';
import { gvisor } from '../../src/runtimes/gvisor/index.ts';

const NEEDED = ['gvisor', 'docker'];

/**
 * Lets tests use a root in a folder, which is theirs and removed after them. Where it cannot be made they are
 * skipped with the reason, and red where `REQUIRED_RUNTIMES` names both that it takes.
 */
export async function withExportedRoot(
  title: string,
  use: (root: string) => void | Promise<void>,
): Promise<void> {
  const probe = await gvisor().probe();
  const made = probe.available ? exportRoot() : { reason: probe.reason };
  if ('root' in made) {
    afterAll(made.remove);
    return use(made.root);
  }
  const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').map((name) => name.trim());
  if (NEEDED.every((name) => required.includes(name))) {
    describe(title, () => {
      it('has a root, since REQUIRED_RUNTIMES names gvisor and docker', () => {
        throw new Error(made.reason);
      });
    });
  } else {
    describe.skip(`${title} (not here: ${made.reason})`, () => {
      it('is not tried', () => {});
    });
  }
}

function exportRoot(): { root: string; remove: () => void } | { reason: string } {
  const folder = mkdtempSync(join(tmpdir(), 'given-root-test-'));
  const remove = (): void => rmSync(folder, { recursive: true });
  const root = join(folder, 'root');
  const archive = join(folder, 'archive.tar');
  const run = (command: string, ...args: string[]): string =>
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  try {
    mkdirSync(root);
    const container = run('docker', 'create', process.env['DOCKER_IMAGE'] ?? DEFAULT_DOCKER_SETTINGS.image);
    try {
      run('docker', 'export', '--output', archive, container);
    } finally {
      run('docker', 'rm', container);
    }
    run('tar', '--extract', '--file', archive, '--directory', root);
    rmSync(archive);
    return { root, remove };
  } catch (error) {
    remove();
    return { reason: `no image could be exported: ${(error as Error).message.trim()}` };
  }
}
