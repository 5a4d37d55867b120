import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { npmForImage } from './npmFolder.ts';

function installation(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'npm-folder-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries({ 'bin/node': '', ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

it('is what came with Node.js, without what nobody reads and without links', async () => {
  const root = installation({
    'lib/node_modules/npm/bin/npm-cli.js': 'cli',
    'lib/node_modules/npm/node_modules/a/docs/index.js': 'needed',
    'lib/node_modules/npm/docs/index.html': 'not needed',
    'lib/node_modules/npm/man/man1/npm.1': 'not needed',
  });
  symlinkSync('/etc/passwd', join(root, 'lib/node_modules/npm/link'));
  symlinkSync(join(root, 'bin/node'), join(root, 'shim'));
  const files = await npmForImage(join(root, 'shim'));
  expect(
    await Promise.all(
      files.map(async ({ name, content }) => [name, await text(content as AsyncIterable<Uint8Array>)]),
    ),
  ).toEqual([
    ['npm/bin/npm-cli.js', 'cli'],
    ['npm/node_modules/a/docs/index.js', 'needed'],
  ]);
});

it('is never nothing, so that it can be copied', async () => {
  const files = await npmForImage(join(installation({}), 'bin/node'));
  expect(files.length).toBeGreaterThan(0);
});
