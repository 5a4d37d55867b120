/** What a dry run leaves alone, what it tells, and what its commit does: exactly that, or nothing. */
import { createHash } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { printableName } from '../../src/archive/printableName.ts';
import { readArchive } from '../../src/archive/readArchive.ts';
import type { LiveSandbox } from '../../src/index.ts';
import { describeMissing } from '../support/targets.ts';
import { NO_TRACES, tracesOf } from '../support/traces.ts';
import { EACH_KIND, expectNothingLeft, open } from './support.ts';

/** All that is in a workspace, with every byte of it. */
async function everything(sandbox: LiveSandbox): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, type, mode, target, content } of readArchive(await sandbox.download())) {
    const hash = createHash('sha256');
    for await (const chunk of content) hash.update(chunk);
    const path = printableName(name).replace(/^\.\//, '').replace(/\/$/, '');
    const isProgram = type === 'file' && (mode & 0o100) !== 0;
    if (path !== '' && path !== '.') found[path] = `${type} ${isProgram} ${target} ${hash.digest('hex')}`;
  }
  return found;
}

const BEGINNING = `
import os
os.makedirs('folder/deep')
open('folder/text', 'w').write('one\\ntwo\\nthree\\n')
open('folder/deep/inner', 'w').write('inner')
open('kept', 'wb').write(bytes(range(256)) * 1000)
open('tool', 'w').write('#!/bin/sh\\n')
os.chmod('tool', 0o755)
os.symlink('kept', 'link')
os.symlink('/etc/passwd', 'outside')
open('becomes a folder', 'w').write('x')
os.mkdir('becomes a file')
open('becomes a file/x', 'w').write('x')
`;

const CHANGES = `
import os, shutil
open('folder/text', 'w').write('one\\n2\\nthree\\n')
shutil.rmtree('folder/deep')
open('new', 'wb').write(os.urandom(3_000_000))
os.makedirs('made/deep')
open('made/deep/tool', 'w').write('tool')
os.chmod('made/deep/tool', 0o700)
os.chmod('tool', 0o600)
os.remove('link')
os.symlink('new', 'link')
os.remove('outside')
open('outside', 'w').write('inside')
os.remove('becomes a folder')
os.mkdir('becomes a folder')
open('becomes a folder/x', 'w').write('x')
shutil.rmtree('becomes a file')
open('becomes a file', 'w').write('x')
os.mkdir('empty')
open(b'no text \\xff', 'w').write('x')
`;

/** Puts something there, and keeps no code of it. */
async function begin(sandbox: LiveSandbox, code = BEGINNING): Promise<void> {
  const begun = await sandbox.execute(code);
  expect(begun).toMatchObject({ ok: true, stderr: '' });
  await sandbox.removeFile('main.py');
}

const CHANGES_IN_BETWEEN = [
  ['one byte of a file', "open('folder/text', 'r+').write('O')", 'folder/text'],
  ['a file more', "open('more', 'w').close()", 'more'],
  ['a file less', "__import__('os').remove('kept')", 'kept'],
  ['a program that was a file', "__import__('os').chmod('folder/deep/inner', 0o755)", 'folder/deep/inner'],
  ['a link that leads elsewhere', "import os; os.remove('link'); os.symlink('tool', 'link')", 'link'],
] as const;

describeMissing('dry runs');

describe.each(EACH_KIND)('$name: a dry run', (target) => {
  it('leaves the workspace as it was, tells what it did, and its commit makes exactly that', async () => {
    await using sandbox = await open(target, { language: 'python' });
    await begin(sandbox);
    const before = await everything(sandbox);
    const dry = await sandbox.dryRun({ code: CHANGES });
    expect(dry.result).toMatchObject({ ok: true, stderr: '', outcome: 'exited' });
    expect(await everything(sandbox)).toEqual(before);
    const { files } = dry.effects;
    expect(files.map(({ kind, path }) => `${kind} ${path}`)).toEqual(
      [
        'changed becomes a file',
        'removed becomes a file/x',
        'changed becomes a folder',
        'added becomes a folder/x',
        'added empty',
        'changed folder/text',
        'removed folder/deep',
        'removed folder/deep/inner',
        'changed link',
        'added made',
        'added made/deep',
        'added made/deep/tool',
        'added main.py',
        'added new',
        'added no text \\xff',
        'changed outside',
        'changed tool',
      ].sort(byPath),
    );
    expect(files.find(({ path }) => path === 'folder/text')?.diff).toBe(
      '--- a/folder/text\n+++ b/folder/text\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
    );
    await dry.commit();
    const made = await everything(sandbox);
    for (const { path, after } of files) {
      const [type, isProgram, target, hash] = made[path]?.split(' ') ?? [];
      if (after === undefined) expect(made[path]).toBeUndefined();
      else if (after.type === 'file') {
        expect([path, type, hash, isProgram]).toEqual([path, 'file', after.sha256, String(after.executable)]);
      } else expect([path, type, target]).toEqual([path, after.type, after.target ?? '']);
    }
    for (const path of ['kept', 'folder', 'becomes a file']) expect(made).toHaveProperty([path]);
    await expect(dry.commit()).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('commits nothing to a workspace that has changed in between', async () => {
    await using sandbox = await open(target, { language: 'python' });
    await begin(sandbox);
    for (const [, code, path] of CHANGES_IN_BETWEEN) {
      const dry = await sandbox.dryRun(['sh', '-c', 'echo new >new; rm -r folder']);
      await begin(sandbox, code);
      const changed = await everything(sandbox);
      await expect(dry.commit()).rejects.toMatchObject({
        code: 'WORKSPACE_CHANGED',
        details: { paths: [path], applied: false },
      });
      expect(await everything(sandbox)).toEqual(changed);
      await dry.discard();
    }
  });
});

describe.each(EACH_KIND.filter(({ name }) => name === 'bubblewrap'))('a dry run', (target) => {
  it('is undone when its commit has no room', async () => {
    await using sandbox = await open(target, { language: 'python', diskMb: 32 });
    await begin(sandbox, "open('old', 'w').write('old')");
    // A file without a name takes room, and is in no copy.
    const holder = await sandbox.start(
      {
        code: `import os, sys
sys.stdin.readline()
held = open('held', 'wb')
os.remove('held')
held.write(bytes(20_000_000))
held.flush()
print('held', flush=True)
sys.stdin.readline()`,
      },
      { stdin: 'stream' },
    );
    const before = await everything(sandbox);
    const dry = await sandbox.dryRun({
      code: "import os; os.remove('old'); open('large', 'wb').write(bytes(20_000_000))",
    });
    expect(dry.result.ok).toBe(true);
    await holder.write('hold\n');
    await holder.waitForLine('held');
    await expect(dry.commit()).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('does not fit'),
    });
    expect(await everything(sandbox)).toEqual(before);
    await holder.kill();
  });

  it('tells whom it asked for, and reaches only whom the sandbox may', async () => {
    await using sandbox = await open(target, { language: 'python', allowedDomains: ['allowed.example'] });
    const code = `
import urllib.request
for _ in range(2):
    try: urllib.request.urlopen('https://other.example/')
    except OSError: pass`;
    const { effects } = await sandbox.dryRun({ code });
    expect(effects.hosts).toEqual([{ host: 'other.example', port: 443, allowed: false, times: 2 }]);
    expect(effects.processes).toBeGreaterThan(0);
  });

  it('is refused where no whole copy can be made, and cannot be committed when nobody knows what it did', async () => {
    await using sandbox = await open(target, { language: 'python' });
    await begin(sandbox, "open('known', 'w').write('x')");
    const dry = await sandbox.dryRun({ code: "import os; os.remove('known'); os.mkfifo('known')" });
    expect(dry.effects).toMatchObject({
      notCarried: [{ path: 'known', because: 'a FIFO' }],
      notCommittable: expect.stringContaining('"known"'),
    });
    await expect(dry.commit()).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const before = await sandbox.dryRun({ code: "open('x', 'w').write('x')" });
    await begin(sandbox, "__import__('os').mkfifo('fifo')");
    await expect(before.commit()).rejects.toMatchObject({
      code: 'WORKSPACE_CHANGED',
      details: { paths: ['fifo'], applied: false },
    });
    const over = await sandbox.dryRun({ code: "open('fifo', 'w').write('x')" });
    expect(over.effects.notCopied).toEqual([{ path: 'fifo', because: 'a FIFO' }]);
    await expect(over.commit()).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('fifo (a FIFO)'),
    });
    expect(await everything(sandbox)).toHaveProperty('known');
  });

  it('never says that it was applied when somebody else wrote at the same time', async () => {
    await using sandbox = await open(target, { language: 'python' });
    await begin(sandbox, "open('contended', 'w').write('beginning')");
    const writer = await sandbox.start(
      {
        code: "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nopen('contended', 'w').write('other')\nprint('writing', flush=True)\nwhile True: open('contended', 'w').write('other')",
      },
      { stdin: 'stream' },
    );
    await writer.waitForLine('ready');
    const dry = await sandbox.dryRun({ code: "open('contended', 'w').write('dry')" });
    await writer.write('go\n');
    await writer.waitForLine('writing');
    await expect(dry.commit()).rejects.toMatchObject({ code: 'WORKSPACE_CHANGED' });
    await writer.kill();
  });

  it('ends with its sandbox, before it and for the same reason', async () => {
    // In one piece, since Python writes the end of a line by itself, and the first piece ends the sandbox.
    const code = "print('ready\\n', end='', flush=True)\nwhile True: pass";
    const sandbox = await open(target, { language: 'python' });
    let closed: Promise<unknown> = Promise.resolve();
    await new Promise<void>((onOutput) => {
      closed = sandbox.dryRun({ code }, { onOutput: () => onOutput() }).catch((error: unknown) => error);
    });
    expect(sandbox.running).toBe(true);
    await sandbox.close();
    expect(tracesOf(process.pid)).toEqual(NO_TRACES);
    expect(await closed).toMatchObject({
      result: { outcome: 'killed', stdout: 'ready\n' },
      effects: { notCommittable: expect.any(String) },
    });
    const brief = await open(target, { language: 'python', lifetime: 2 });
    const expired = await brief.dryRun({ code });
    expect(expired).toMatchObject({
      result: { outcome: 'killed', meta: { killedBy: 'lifetime' } },
      effects: { notCommittable: expect.stringMatching(/not known/) },
    });
    await brief.whenEnded;
  });

  it('whose end cannot be read still has its result', async () => {
    await using sandbox = await open(target, { language: 'python', diskMb: 16 });
    const code = "print('ran')\nfor name in 'abc': open(name, 'wb').truncate(10_000_000)";
    const { result, effects } = await sandbox.dryRun({ code });
    expect(result).toMatchObject({ ok: true, stdout: 'ran\n' });
    expect(effects.notCommittable).toMatch(/more than 16777216 bytes/);
  });

  it('knows a name by what it is, where another part of the path is no text', async () => {
    await using sandbox = await open(target, { language: 'python' });
    await begin(sandbox, "import os; os.mkdir('é'); open('é'.encode() + b'/\\xff', 'w').write('x')");
    const code = "import os; os.remove('é'.encode() + b'/\\xff'); os.mkfifo('é'.encode() + b'/\\xff')";
    const { effects } = await sandbox.dryRun({ code });
    expect(effects).toMatchObject({
      notCarried: [{ path: 'é/\\xff', because: 'a FIFO' }],
      notCommittable: expect.any(String),
    });
  });

  it('leaves nothing: not when it is forgotten, not when its sandbox ends, not when it is cancelled', async () => {
    const sandbox = await open(target, { language: 'python' });
    await using discarded = await sandbox.dryRun({ code: "open('x', 'w').write('x')" });
    await discarded.discard();
    await expect(discarded.commit()).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    const signal = AbortSignal.timeout(1000);
    const cancelled = await sandbox.dryRun({ code: 'while True: pass' }, { signal });
    expect(cancelled.result.outcome).toBe('cancelled');
    const kept = await sandbox.dryRun({ code: "open('x', 'w').write('x')" });
    await sandbox.close();
    await expect(kept.commit()).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
    await expectNothingLeft();
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('glovebox-spool-'))).toEqual([]);
    const descriptors = readdirSync('/proc/self/fd').map(fdTarget);
    expect(descriptors.filter((path) => path.includes('glovebox-spool-'))).toEqual([]);
  });
});

function byPath(one: string, other: string): number {
  const [left, right] = [one, other].map((line) => line.replace(/^\w+ /, ''));
  return (left ?? '') < (right ?? '') ? -1 : 1;
}

/** What one of our descriptors is of; the one that looked is gone. */
function fdTarget(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch {
    return '';
  }
}
