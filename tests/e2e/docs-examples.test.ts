/** Runs the examples of the documents as their reader would, and compares what they print with what is written. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureBuilt, MAIN, REPOSITORY } from './support/build.ts';
import { describeWith, type Need } from './support/needs.ts';

interface Example {
  readonly place: string;
  readonly language: string;
  readonly code: string;
  readonly status: number;
  readonly needs: readonly Need[];
  /** What it prints, with `…` for anything; undefined where the document does not say. */
  readonly output: string | undefined;
}

const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** How to start an example of each language: the file's name, and the command before it. */
const STARTS: Readonly<Record<string, { readonly file: string; readonly command: readonly string[] }>> = {
  sh: { file: 'example.sh', command: ['bash', '-eu'] },
  js: { file: 'example.mjs', command: [process.execPath] },
  ts: { file: 'example.mts', command: [process.execPath, join(REPOSITORY, 'node_modules/tsx/dist/cli.mjs')] },
};

/** What the readers of some examples have installed besides ours. */
const PACKAGES = ['ai', '@langchain/core'];

/** The one line that a machine without namespaces adds. */
const PLAIN_WARNING = /^glovebox: warning: The code runs as a plain process.*\n/gm;

let root = '';

beforeAll(() => ensureBuilt());
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gbx-docs-')));
  for (const name of ['home', 'tmp', 'bin', 'folder/node_modules'])
    mkdirSync(join(root, name), { recursive: true });
  symlinkSync(REPOSITORY, join(root, 'folder/node_modules/glovebox'));
  for (const name of PACKAGES) {
    mkdirSync(dirname(join(root, 'folder/node_modules', name)), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules', name), join(root, 'folder/node_modules', name));
  }
  cpSync(join(REPOSITORY, 'examples'), join(root, 'folder/examples'), { recursive: true });
  writeFileSync(join(root, 'bin/glovebox'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(join(root, 'bin/glovebox'), 0o755);
});
afterEach(async () => {
  // An example that did not do what is written may not have come to the end of its sandbox either.
  if (existsSync(join(root, 'tmp', `glovebox-${process.getuid?.()}`))) {
    await start('sh', 'glovebox sandbox rm --all');
  }
  rmSync(root, { recursive: true, force: true });
});

const examples = DOCUMENTS.flatMap(examplesIn);

it('the documents have examples of every kind', () => {
  expect(new Set(examples.map(({ language }) => language))).toEqual(new Set(Object.keys(STARTS)));
});

describe('the examples of the documents', () => {
  for (const { place, language, code, status, needs, output } of examples) {
    describeWith(needs, place, () => {
      it(`${language} does what is written`, async () => {
        const ended = await start(language, code);
        const printed = ended.printed.replace(PLAIN_WARNING, '').trimEnd();
        expect({ printed, status: ended.status }).toEqual({
          printed: output === undefined ? printed : expect.stringMatching(asPattern(output)),
          status,
        });
      });
    });
  }
});

function examplesIn(document: string): Example[] {
  const content = readFileSync(join(REPOSITORY, document), 'utf8');
  const fences = /^```(\w+)( run\b.*)\n([\s\S]*?)^```$(?:\n+^```text output\n([\s\S]*?)^```$)?/gm;
  return [...content.matchAll(fences)].map(
    ({ 1: language = '', 2: info = '', 3: code = '', 4: output, index }) => ({
      place: `${document}:${content.slice(0, index).split('\n').length}`,
      language,
      code,
      status: Number(/ status=(\d+)/.exec(info)?.[1] ?? 0),
      needs: (/ needs=([\w,]+)/.exec(info)?.[1]?.split(',') ?? []) as Need[],
      output,
    }),
  );
}

/** Runs it in an empty folder that has `examples/` and the package, both of its streams in one. */
async function start(language: string, code: string): Promise<{ status: number | null; printed: string }> {
  const { file, command } = STARTS[language] ?? { file: '', command: [] };
  writeFileSync(join(root, 'folder', file), code);
  const home = join(root, 'home');
  const child = spawn('sh', ['-c', 'exec "$@" 2>&1', 'sh', ...command, file], {
    cwd: join(root, 'folder'),
    env: {
      PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_CACHE_HOME: join(home, 'cache'),
      TMPDIR: join(root, 'tmp'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 50_000,
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [printed, status] = await Promise.all([text(child.stdout), ended]);
  return { status, printed };
}

function asPattern(output: string): RegExp {
  const literal = output
    .trimEnd()
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('[\\s\\S]*?')}$`);
}
