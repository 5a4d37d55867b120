import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const LOG = pathToFileURL(join(import.meta.dirname, 'log.ts')).href;
const TSX = pathToFileURL(join(import.meta.dirname, '../../../node_modules/tsx/dist/loader.mjs')).href;

/** What is in the log after a process has written these lines to it. */
function written(code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  const file = openSync(path, 'a');
  const program = `import { log } from ${JSON.stringify(LOG)};\n${code}`;
  const args = ['--import', TSX, '--input-type=module', '--eval', program];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', file] });
  closeSync(file);
  expect(status).toBe(0);
  return readFileSync(path, 'utf8');
}

it('a line of the log has its time and its process, and nothing takes effect in it', () => {
  expect(written("log('made a\\n\\x1b[31mb')")).toMatch(/^\d{4}-\S+Z \d+ made a\\x0a\\x1b\[31mb\n$/);
});

it('the log begins anew instead of growing beyond its bound', () => {
  const text = written("for (let line = 0; line < 2000; line++) log(line + ' ' + 'x'.repeat(1000))");
  expect(text.length).toBeLessThan(300 * 1024);
  expect(text).toContain(' 1999 x');
  expect(text).not.toContain(' 0 x');
});
