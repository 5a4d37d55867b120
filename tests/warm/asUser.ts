/** Programs of these tests, as somebody who is not root. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

const ORDINARY_USER = ['--reuid', '54321', '--regid', '54321', '--clear-groups', '--'];

/** Empty where a program of these tests can be run as an ordinary user; otherwise why not, for a title. */
export function whyNotAsUser(program: string): string {
  const can =
    process.getuid?.() === 0 && spawnSync('setpriv', [...ORDINARY_USER, 'test', '-r', program]).status === 0;
  return can ? '' : ' (skipped: needs root, and a checkout that others may read)';
}

/** Runs it so, in a folder of that user's, and resolves to the JSON that it says. */
export async function runAsUser(program: string, argument: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'warm-user-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o777);
  const child = spawn(
    'setpriv',
    [...ORDINARY_USER, process.execPath, '--import', import.meta.resolve('tsx'), program, argument],
    {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return JSON.parse(await text(child.stdout));
}
