/** What a command loads before it does anything: most of what it takes to start. How long is measured in `glovebox bench`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from './support/build.ts';
import { useCommand } from './support/command.ts';

const glovebox = useCommand();
const TELLS = fileURLToPath(import.meta.resolve('./programs/tellsPackages.cjs'));

beforeAll(() => ensureBuilt());

describe('what a command loads', () => {
  it.each<[string, string[], string[]]>([
    ['the version', ['--version'], ['commander']],
    ['help', ['run', '--help'], ['commander']],
    ['a run', ['run', '--runtime', 'local', '-c', 'print(1)'], ['commander']],
    ['a look into the record', ['audit', 'list'], ['commander']],
    ['the list of sandboxes', ['sandbox', 'list'], ['commander']],
    // The control: settings are read, and misspelt ones recognised, with packages.
    [
      'settings',
      ['run', '--runtime', 'local', '--config', 'own.yaml', '-c', 'print(1)'],
      ['commander', 'fastest-levenshtein', 'yaml'],
    ],
  ])('is, for %s, what it needs', async (_, args, packages) => {
    glovebox.file('own.yaml', 'security:\n  sandbox:\n    timeout_sec: 20\n');
    const { folder } = glovebox;
    const { status, stderr, pid } = await glovebox.run(args, {
      env: { NODE_OPTIONS: `--require ${TELLS}`, TELL_FOLDER: folder },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(readFileSync(join(folder, `${pid}.json`), 'utf8'))).toEqual(packages);
  });
});
