import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as event } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { isAtLeast } from '../../src/policy/isolation.ts';
import { removeTree } from '../../src/runtimes/host/removeTree.ts';
import { describeMissing, type Target } from '../support/targets.ts';
import {
  AS_ROOT,
  isWarm,
  OF_THEIR_OWN,
  open,
  PRELUDE,
  program,
  scratch,
  sharesTheKernel,
  whileRunning,
} from './support.ts';

/** Where each file operation is a message to an engine, a race has as many rounds as fit into this time. */
const roundsEnd = ({ capabilities }: Target): number =>
  isAtLeast(capabilities.isolation, 'container') ? Date.now() + 20_000 : Infinity;

const SECRET = `canary-${randomUUID()}`;

/** A folder of the host that links lead to; nothing in it may be read or changed. */
const host = mkdtempSync(join(scratch, 'host-'));
chmodSync(host, 0o777);
writeFileSync(join(host, 'secret'), SECRET, { mode: 0o666 });
mkdirSync(join(host, 'folder'));
writeFileSync(join(host, 'folder', 'secret'), SECRET);
writeFileSync(join(host, 'folder', 'only-on-host'), SECRET);

function hostIsUntouched(): void {
  expect(readdirSync(host).sort()).toEqual(['folder', 'secret']);
  expect(readdirSync(join(host, 'folder'))).toEqual(['only-on-host', 'secret']);
  expect(readFileSync(join(host, 'secret'), 'utf8')).toBe(SECRET);
  expect(readFileSync(join(host, 'folder', 'secret'), 'utf8')).toBe(SECRET);
}

async function said(action: Promise<unknown>): Promise<string> {
  return action.then(
    (value) => ((value as { content?: string })?.content?.includes(SECRET) ? 'LEAKED' : 'ok'),
    (error: { name: string; code?: string; message: string }) =>
      // A failure is never what is expected: its message tells more.
      error.name === 'SandboxError' && error.code !== 'SANDBOX_FAILED'
        ? String(error.code)
        : `${error.name}: ${error.message}`,
  );
}

describe.each(OF_THEIR_OWN)('file API: $name', (target) => {
  let sandbox: LiveSandbox;
  const make = async (): Promise<void> => {
    const code = `${PRELUDE}\n${program('makes-links-to-the-host.py')}`;
    const made = await sandbox.execute(code, { env: { HOST_FOLDER: host } });
    expect(made.stdout, made.stderr).toBe('made\n');
  };
  beforeAll(async () => {
    sandbox = await open(target);
    if (!isWarm(target)) await make();
  });
  // What a warm guest's program made is there until the next one.
  beforeEach(async () => {
    if (isWarm(target)) await make();
  });
  afterAll(async () => {
    await sandbox.close();
    hostIsUntouched();
  });

  it.each([
    'link/secret',
    'link/folder/secret',
    'link-file',
    'root/etc/passwd',
    'etc/passwd',
    'up/etc/passwd',
    'up2/etc/passwd',
    'self',
    'self/x',
    'proc/etc/passwd',
    'fd/0',
    'fd/3',
    'cwd/small',
    'dangling',
    'dangling-host',
    'to-real/inner/file',
    'real/back/inner/file',
    'real/inner/out/secret',
    'real/inner/out/folder/secret',
    './link/secret',
    'real/../link/secret',
    'link/.',
    'link/',
  ])('24. reads nothing through the link %s', async (path) => {
    expect(await said(sandbox.readFile(path))).toMatch(
      /^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID|FILE_NOT_FOUND)$/,
    );
    // An execution that collects anything starts cold.
    if (isWarm(target)) return;
    const { meta, files } = await sandbox.execute('print(1)', { collect: [path] });
    expect(files).toEqual({});
    expect(Object.keys(meta.notCollected ?? {})).toEqual([path]);
  });

  it.each([
    'link/new',
    'link/secret',
    'root/tmp/new',
    'real/inner/out/secret',
    'dangling/new',
    'self/new',
    'to-real/new',
    'up/new',
    'cwd/new',
    'fd/1',
    'link/folder/new/deep',
  ])('24. writes nothing through a link on the way of %s', async (path) => {
    expect(await said(sandbox.writeFile(path, 'evil'))).toMatch(
      /^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID|FILE_NOT_FOUND)$/,
    );
    hostIsUntouched();
  });

  it('24, 26. a link in the last place is replaced, not followed', async () => {
    await sandbox.execute('ln -sf "$HOST_FOLDER/secret" last; ln -sf "$HOST_FOLDER/brand-new" last-new', {
      language: 'shell',
      env: { HOST_FOLDER: host },
    });
    for (const path of ['last', 'last-new']) {
      await sandbox.writeFile(path, 'mine');
      expect((await sandbox.readFile(path)).content).toBe('mine');
    }
    hostIsUntouched();
  });

  it.each([
    'link',
    'root',
    'up',
    'self',
    'fd',
    'real/inner/out',
    'link/folder',
    'to-real',
    'dangling',
    'proc',
  ])('24. lists nothing behind the link %s', async (path) => {
    expect(await said(sandbox.listFiles(path))).toMatch(
      /^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID|FILE_NOT_FOUND)$/,
    );
  });

  it('24. a real folder and its file are read (control)', async () => {
    expect((await sandbox.readFile('real/inner/file')).content).toBe('inside');
    expect((await sandbox.readFile('/workspace/real/./inner/../inner/file')).content).toBe('inside');
  });

  it('24. a real folder is written to and listed (control)', async () => {
    await sandbox.writeFile('real/new/deep/file', 'x');
    const { files } = await sandbox.listFiles('/workspace/real');
    expect(files.map(({ name, type }) => [name, type])).toEqual([
      ['back', 'symlink'],
      ['inner', 'directory'],
      ['new', 'directory'],
    ]);
  });

  it.each([
    ['..', 'PATH_OUTSIDE_WORKSPACE'],
    ['../x', 'PATH_OUTSIDE_WORKSPACE'],
    ['a/../../x', 'PATH_OUTSIDE_WORKSPACE'],
    ['/workspace/../etc/passwd', 'PATH_OUTSIDE_WORKSPACE'],
    ['/workspace-evil/x', 'PATH_OUTSIDE_WORKSPACE'],
    ['/workspacex', 'PATH_OUTSIDE_WORKSPACE'],
    ['/etc/passwd', 'PATH_OUTSIDE_WORKSPACE'],
    ['/', 'PATH_OUTSIDE_WORKSPACE'],
    ['//etc/passwd', 'PATH_OUTSIDE_WORKSPACE'],
    ['/proc/self/environ', 'PATH_OUTSIDE_WORKSPACE'],
    ['', 'INPUT_INVALID'],
    ['a\0b', 'INPUT_INVALID'],
    ['small\0', 'INPUT_INVALID'],
    ['.', 'INPUT_INVALID'],
    ['/workspace', 'INPUT_INVALID'],
    ['/workspace/', 'INPUT_INVALID'],
    ['directory', 'INPUT_INVALID'],
    ['fifo', 'INPUT_INVALID'],
    ['socket', 'INPUT_INVALID'],
    ['x'.repeat(256), 'INPUT_INVALID'],
    ['small/below', 'INPUT_INVALID'],
    [`${'d/'.repeat(3000)}x`, 'FILE_NOT_FOUND'],
    ['sm\u0430ll', 'FILE_NOT_FOUND'],
    ['small ', 'FILE_NOT_FOUND'],
    ['~/.ssh/id_rsa', 'FILE_NOT_FOUND'],
    ['file:///etc/passwd', 'FILE_NOT_FOUND'],
    ['..\\..\\etc', 'FILE_NOT_FOUND'],
    ['%2e%2e/etc/passwd', 'FILE_NOT_FOUND'],
    ['\ud800', 'FILE_NOT_FOUND'],
  ])('24, 25. reading %j is answered with %s', async (path, code) => {
    // Another kernel's FIFOs and sockets end with it.
    const gone = !sharesTheKernel(target) && (path === 'fifo' || path === 'socket');
    expect(await said(sandbox.readFile(path))).toBe(gone ? 'FILE_NOT_FOUND' : code);
  });

  it.each([
    '..',
    '../x',
    '/etc/evil',
    '/workspace-evil/x',
    '',
    'a\0b',
    '.',
    '/workspace',
    'directory',
    'small/below',
    'x'.repeat(256),
  ])('24, 25. writing %j is refused', async (path) => {
    expect(await said(sandbox.writeFile(path, 'x'))).toMatch(/^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID)$/);
  });

  it('25. a FIFO or socket does not hold up reading, and writing replaces it', async () => {
    const started = performance.now();
    expect(await said(sandbox.readFile('fifo'))).toBe(
      sharesTheKernel(target) ? 'INPUT_INVALID' : 'FILE_NOT_FOUND',
    );
    await sandbox.writeFile('fifo', 'now a file');
    expect((await sandbox.readFile('fifo')).content).toBe('now a file');
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it('25. a file that grows while it is read stays within the cap', async () => {
    await using small = await open(target, target.capabilities.filesystem === 'private' ? { diskMb: 8 } : {});
    const sizes: number[] = [];
    await whileRunning(
      small,
      `
import threading
def grow():
    with open('growing', 'wb') as file:
        while True:
            file.seek(0); file.truncate(0)
            for _ in range(50): file.write(b'x' * 65536); file.flush()
threading.Thread(target=grow, daemon=True).start()
while not os.path.exists('growing'): time.sleep(0.001)`,
      async () => {
        const end = roundsEnd(target);
        for (let turn = 0; turn < 200 && Date.now() < end; turn++)
          sizes.push((await small.readFile('growing')).size);
      },
    );
    expect(sizes).not.toEqual([]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8 << 20);
  });

  it('25. a sparse file of any size is an answer or a refusal, never a crash', async () => {
    const read = await said(sandbox.readFile('sparse'));
    expect(read).toMatch(/^(ok|INPUT_INVALID)$/);
    await using large = await open(
      target,
      target.capabilities.filesystem === 'private' ? { diskMb: 900, memoryMb: 300 } : {},
    );
    const made = await large.execute(
      `import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for name, mb in (('huge', 800), ('larger', 200)):
    with open(name, 'wb') as file:
        try: file.truncate(mb << 20)
        except OSError: pass
        file.write(b'\\xff')`,
    );
    expect(made.ok, made.stderr).toBe(true);
    expect(await said(large.readFile('huge'))).toMatch(/^(ok|INPUT_INVALID)$/);
    const collected = await large.execute('print(1)', { collect: ['huge'] });
    expect(collected.ok).toBe(true);
  });

  it('24. a listing of 20,000 hostile names is bounded and is data', async () => {
    const made = await sandbox.execute(
      `import os
os.mkdir('many')
for number in range(20000): os.close(os.open(f'many/{number}', os.O_CREAT | os.O_WRONLY))
os.mkdir('names')
for name in (b'new\\nline', b'\\xff', b'\\\\xff', b'a\\xc0\\xafb', b'..x', b'...', '\\u202e'.encode(), b'-rf', b'x' * 255): open(b'names/' + name, 'w').close()`,
      { timeout: 30 },
    );
    expect(made.ok, made.stderr).toBe(true);
    expect((await sandbox.listFiles('many')).files.length).toBe(10_000);
    const { files } = await sandbox.listFiles('names');
    expect(files.length).toBe(9);
    // No two of them look alike: the byte 0xff and the four characters that stand for it included.
    expect(new Set(files.map(({ name }) => name)).size).toBe(9);
  });

  it('24. thousands of reads and writes beside a program that swaps folders and links reach nothing outside', async () => {
    const leaked: string[] = [];
    let inside = 0;
    let refused = 0;
    await using racing = await open(target);
    const result = await whileRunning(
      racing,
      program('swaps-folders-and-links.py'),
      async () => {
        const end = roundsEnd(target);
        for (let turn = 0; turn < 1000 && Date.now() < end; turn++) {
          const tries = await Promise.all([
            said(racing.readFile('dir/secret')),
            said(racing.readFile('dir/folder/secret')),
            said(racing.readFile('file')),
            said(racing.writeFile('dir/written', 'evil')),
            said(racing.writeFile('dir/folder/secret', 'inside')),
            said(
              racing.listFiles('dir/folder').then(({ files }) => ({
                content: files.some(({ name }) => name === 'only-on-host') ? SECRET : '',
              })),
            ),
          ]);
          for (const one of tries) {
            if (one === 'ok') inside++;
            else if (/^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID|FILE_NOT_FOUND)$/.test(one)) refused++;
            else leaked.push(one);
          }
        }
      },
      { HOST_FOLDER: host },
    );
    expect(result.outcome).toBe('exited');
    expect(leaked).toEqual([]);
    hostIsUntouched();
    // Control: the race was real, both faces were met.
    const often = isAtLeast(target.capabilities.isolation, 'container') ? 20 : 100;
    expect(inside).toBeGreaterThan(often);
    expect(refused).toBeGreaterThan(often);
  }, 120_000);

  it('26. what the toolkit puts into the workspace is not left half-done, and its names are its own', async () => {
    await using fresh = await open(target);
    await fresh.writeFile('a/b', 'x');
    await fresh.execute('print(1)');
    const names = async (path: string) => (await fresh.listFiles(path)).files.map(({ name }) => name);
    expect(await names('.')).toEqual(['a', 'main.py']);
    expect(await names('a')).toEqual(['b']);
  });
});

/** The racer may swap the folder in the middle of it; then the next turn makes it. */
function makeUnlessSwapped(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    if (!['ENOENT', 'EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

describe('removing a tree that somebody else changes', () => {
  it.skipIf(!AS_ROOT)(
    '26. changes no mode of a file outside, whoever swaps a folder for a link meanwhile (as root only)',
    async () => {
      const victim = join(scratch, 'victim');
      mkdirSync(victim, { mode: 0o755 });
      chmodSync(victim, 0o755);
      const base = mkdtempSync(join(tmpdir(), 'attack-race-'));
      chmodSync(base, 0o777);
      symlinkSync(victim, join(base, 'link'));
      const racer = spawn('python3', ['-c', program('swaps-a-folder-for-a-link.py'), base], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      try {
        await event(racer.stdout, 'data');
        for (let turn = 0; turn < 1500 && (statSync(victim).mode & 0o777) === 0o755; turn++) {
          makeUnlessSwapped(join(base, 'folder', 'sub'));
          await removeTree(join(base, 'folder')).catch(() => {});
        }
        expect((statSync(victim).mode & 0o777).toString(8)).toBe('755');
        expect(existsSync(victim)).toBe(true);
      } finally {
        const gone = event(racer, 'exit');
        racer.kill('SIGKILL');
        await gone;
        rmSync(base, { recursive: true, force: true });
      }
    },
  );
});

describeMissing('file API');
