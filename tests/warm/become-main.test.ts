/** What becomes of an interpreter that has waited, beside one that was started just now: without a sandbox, so quickly. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, it } from 'vitest';
import { BECOME_MAIN } from '../../src/languages/waiting/becomeMain.ts';
import { masked } from './corpus/masked.ts';
import { type CorpusProgram, readCorpus } from './corpus/readCorpus.ts';

const PYTHON = process.env['SANDBOX_PYTHON'] ?? '/usr/bin/python3';
const FOLDER = realpathSync(mkdtempSync(join(tmpdir(), 'glovebox-warm-')));
const DEADLINE_MS = 30_000;
/** Reads its orders from its own text, and the program from beside it. */
const WAITS = `
import sys
import os
modules = list(sys.modules)
file = os.path.abspath(__file__)
os.unlink(file)
finders = set(sys.path_importer_cache)
import ctypes
deepen(ctypes)
touch()
for folder in set(sys.path_importer_cache) - finders:
    del sys.path_importer_cache[folder]
os.rename(file + '.program', file)
become_main(file, lambda: (ARGS, ENV, None, True), modules)
`;

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

describe.concurrent('a program in an interpreter that has waited', () => {
  const programs = readCorpus('python').filter(({ onlyInSandbox }) => !onlyInSandbox);
  programs.forEach((program, index) => {
    it(program.name, async ({ expect }) => {
      const folder = join(FOLDER, `${index}`);
      const cold = await run(program, 'cold', folder);
      expect(await run(program, 'cold', folder)).toEqual(cold);
      expect(await run(program, 'warm', folder)).toEqual(cold);
    });
  });
});

async function run(program: CorpusProgram, how: 'cold' | 'warm', folder: string): Promise<object> {
  for (const name of ['home', 'tmp', 'workspace']) mkdirSync(join(folder, name), { recursive: true });
  const workspace = join(folder, 'workspace');
  const file = join(workspace, 'main.py');
  for (const [name, text] of Object.entries(program.files)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
  const guest = {
    ...{ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(folder, 'home'), PWD: workspace },
    ...{ LANG: 'C.UTF-8', TMPDIR: join(folder, 'tmp') },
  };
  const env = { ...guest, ...program.env };
  writeFileSync(how === 'cold' ? file : `${file}.program`, program.code);
  if (how === 'warm') {
    const orders = `ARGS = ${JSON.stringify(program.args)}\nENV = ${JSON.stringify(env)}\n`;
    writeFileSync(file, `${BECOME_MAIN}\n${orders}${WAITS}`);
  }
  try {
    const ended = await ending(['-u', '-B', file, ...(how === 'cold' ? program.args : [])], {
      ...{ cwd: workspace, env: how === 'cold' ? env : guest, stdin: program.stdin },
    });
    return { ...ended, out: shown(ended.out, folder), err: shown(ended.err, folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function shown(output: string, folder: string): string {
  return masked(output.replaceAll(folder, ''));
}

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

async function ending(
  args: readonly string[],
  { cwd, env, stdin }: { cwd: string; env: Record<string, string>; stdin: Uint8Array | undefined },
): Promise<Ended> {
  const child = spawn(PYTHON, args, {
    ...{ cwd, env, timeout: DEADLINE_MS, killSignal: 'SIGKILL' },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  // A program need not read what it is given.
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  const [out, err] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => buffer(stream as Readable)),
  );
  const [code, signal] = await closed;
  return { code, signal, out: `${out?.toString('latin1')}`, err: `${err?.toString('latin1')}` };
}
