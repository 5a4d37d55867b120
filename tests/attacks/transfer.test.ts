/** Files removed, folders carried in and out, and what a program prepares against it. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ArchiveEntry } from '../../src/archive/entry.ts';
import { readArchive } from '../../src/archive/readArchive.ts';
import { writeArchive } from '../../src/archive/writeArchive.ts';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { isAtLeast } from '../../src/policy/isolation.ts';
import { eventually } from '../support/eventually.ts';
import { describeMissing } from '../support/targets.ts';
import { OF_THEIR_OWN, open, PRELUDE, program, scratch, sharesTheKernel, whileRunning } from './support.ts';

const SECRET = `canary-${randomUUID()}`;

/** What is to be written outside and must not be. */
const PLANTED = `planted-${randomUUID()}`;

/** A folder of the host that links lead to; nothing in it may be read or changed. */
const host = mkdtempSync(join(scratch, 'host-'));
chmodSync(host, 0o777);
writeFileSync(join(host, 'secret'), SECRET, { mode: 0o666 });
chmodSync(join(host, 'secret'), 0o666);
mkdirSync(join(host, 'folder'));
chmodSync(join(host, 'folder'), 0o777);
writeFileSync(join(host, 'folder', 'secret'), SECRET);

function hostIsUntouched(): void {
  expect(readdirSync(host).sort()).toEqual(['folder', 'secret']);
  expect(readdirSync(join(host, 'folder'))).toEqual(['secret']);
  expect(readFileSync(join(host, 'secret'), 'utf8')).toBe(SECRET);
  expect(readFileSync(join(host, 'folder', 'secret'), 'utf8')).toBe(SECRET);
}

/** Where each file operation is a message to an engine, a race has as many rounds as fit into this time. */
const RACE_MS = 15_000;

async function said(action: Promise<unknown>): Promise<string> {
  return action.then(
    () => 'ok',
    (error: { name: string; code?: string; message: string }) =>
      error.name === 'SandboxError' && error.code !== 'SANDBOX_FAILED'
        ? String(error.code)
        : `${error.name}: ${error.message}`,
  );
}

const REFUSED = /^(PATH_OUTSIDE_WORKSPACE|INPUT_INVALID|FILE_NOT_FOUND)$/;

function file(name: string, content = 'evil'): ArchiveEntry {
  const bytes = Buffer.from(content);
  return { name: Buffer.from(name), type: 'file', size: bytes.length, content: [bytes] };
}

function link(name: string, target: string): ArchiveEntry {
  return { name: Buffer.from(name), type: 'symlink', target: Buffer.from(target) };
}

const archiveOf = (...entries: ArchiveEntry[]): AsyncIterable<Uint8Array> => writeArchive(entries);

/** Everything below a folder of the host, its names byte by byte: its type by path, nothing followed. */
function treeOf(folder: string, below = ''): Record<string, string> {
  return Object.assign(
    {},
    ...readdirSync(bytesOf(join(folder, below)), 'latin1').map((name) => {
      const path = join(below, name);
      const status = lstatSync(bytesOf(join(folder, path)));
      if (status.isDirectory()) return { [path]: 'folder', ...treeOf(folder, path) };
      return { [path]: status.isFile() ? (status.mode & 0o7777).toString(8) : 'neither file nor folder' };
    }),
  );
}

const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1');

function contentsOf(folder: string): string {
  return Object.entries(treeOf(folder))
    .filter(([, type]) => /^\d+$/.test(type))
    .map(([path]) => readFileSync(bytesOf(join(folder, path)), 'latin1'))
    .join('\n');
}

describe.each(OF_THEIR_OWN)('transfers: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target);
    const made = await sandbox.execute(`${PRELUDE}\n${program('makes-a-tree-to-carry.py')}`, {
      env: { HOST_FOLDER: host },
    });
    expect(made.stdout, made.stderr).toBe('made\n');
  });
  afterAll(async () => {
    await sandbox.close();
    hostIsUntouched();
  });

  it('a hostile tree arrives as files and folders alone, and what is left out is named', async () => {
    const out = mkdtempSync(join(scratch, 'out-'));
    const { skipped, files } = await sandbox.downloadTo('tree', out);
    const tree = treeOf(out);
    expect(Object.values(tree)).not.toContain('neither file nor folder');
    expect(contentsOf(out)).not.toContain(SECRET);
    // Control: what is good is there, also by its second name, and whole.
    expect(readFileSync(join(out, 'good/inner/file'), 'utf8')).toBe('inside');
    expect(readFileSync(join(out, 'second-name'), 'utf8')).toBe('inside');
    expect(tree['tool']).toBe('755');
    expect(files).toBeGreaterThan(10);
    const left = new Map(skipped.map(({ path, because }) => [path, because]));
    for (const name of ['link', 'link-file', 'root', 'up', 'dangling', 'self', 'chain', 'good/out', 'tmp']) {
      expect([name, left.get(name)]).toEqual([name, 'a symbolic link']);
      expect(tree[name]).toBeUndefined();
    }
    if (sharesTheKernel(target)) expect(left.get('fifo')).toBe('a FIFO');
    const deepest = Math.max(...Object.keys(tree).map((path) => path.split('/').length));
    expect(deepest).toBeLessThanOrEqual(128);
    expect(skipped.some(({ because }) => /^deeper than /.test(because))).toBe(true);
    // Ten names, no two of which are one on the host.
    expect(readdirSync(join(out, 'names')).length).toBe(10);
  });

  it('an archive of a hostile tree is one that tar reads, with links as they are written', async () => {
    const bytes = await buffer(await sandbox.download('tree/good'));
    const path = join(mkdtempSync(join(scratch, 'tar-')), 'archive.tar');
    writeFileSync(path, bytes);
    const listed = execFileSync('tar', ['-t', '-v', '-f', path], { encoding: 'utf8' });
    expect(
      listed
        .split('\n')
        .map((line) => line.split(/\s+/).slice(5).join(' '))
        .sort(),
    ).toEqual(['', 'inner/', 'inner/file', 'out -> ../link']);
  });

  it.each([
    'tree/link',
    'tree/link/folder',
    'tree/chain',
    'tree/root/etc',
    'tree/link-file',
    'tree/good/out',
  ])('carries nothing from behind the link %s', async (path) => {
    expect(await said(sandbox.download(path))).toMatch(REFUSED);
    const out = mkdtempSync(join(scratch, 'out-'));
    expect(await said(sandbox.downloadTo(path, out))).toMatch(REFUSED);
    expect(readdirSync(out)).toEqual([]);
  });

  it.each(['..', '../x', '/etc', '/', 'tree/../../x', '/workspacex'])(
    'carries nothing at %j',
    async (path) => {
      expect(await said(sandbox.download(path))).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await said(sandbox.upload(path, archiveOf(file('a'))))).toBe('PATH_OUTSIDE_WORKSPACE');
      expect(await said(sandbox.removeFile(path, { recursive: true }))).toBe('PATH_OUTSIDE_WORKSPACE');
    },
  );

  it('one file is carried under its own name; what is none is refused', async () => {
    const out = mkdtempSync(join(scratch, 'out-'));
    await sandbox.downloadTo('tree/good/inner/file', out);
    expect(readFileSync(join(out, 'file'), 'utf8')).toBe('inside');
    expect(await said(sandbox.download('tree/none'))).toBe('FILE_NOT_FOUND');
    expect(await said(sandbox.download('tree/fifo'))).toBe(
      sharesTheKernel(target) ? 'INPUT_INVALID' : 'FILE_NOT_FOUND',
    );
  });

  it.each([
    ['tree/link', 'new', [file('new')]],
    ['tree/link/folder', 'secret', [file('secret')]],
    ['tree/good/out', 'secret', [file('secret')]],
    ['tree/tmp', `${PLANTED}`, [file(`${PLANTED}`)]],
    ['tree/dangling', 'new', [file('new')]],
    ['tree', 'link/new', [file('link/new')]],
    ['tree', 'link/folder/secret', [file('link/folder/secret')]],
    ['tree', 'good/out/new', [file('good/out/new')]],
    ['tree', `tmp/${PLANTED}`, [file(`tmp/${PLANTED}`)]],
    ['tree', `tmp/${PLANTED}`, [{ name: Buffer.from(`tmp/${PLANTED}`), type: 'directory' } as ArchiveEntry]],
    [
      'tree',
      `tmp tmp/${PLANTED}`,
      [{ name: Buffer.from('tmp'), type: 'directory' } as ArchiveEntry, file(`tmp/${PLANTED}`)],
    ],
    ['tree', 'self/new', [file('self/new')]],
    ['fresh', '../new', [file('../new')]],
    ['fresh', `/tmp/${PLANTED}`, [file(`/tmp/${PLANTED}`)]],
    ['fresh', 'a/../../new', [file('a/../../new')]],
    ['fresh', `l l/${PLANTED}`, [link('l', '/tmp'), file(`l/${PLANTED}`)]],
    ['fresh', `l l/m l/m/${PLANTED}`, [link('l', '.'), link('l/m', '/tmp'), file(`l/m/${PLANTED}`)]],
  ] as const)('unpacks nothing through a link or out of the folder: %s, %s', async (path, _, entries) => {
    expect(await said(sandbox.upload(path, archiveOf(...entries), { links: 'kept' }))).toMatch(REFUSED);
    hostIsUntouched();
    const planted = await sandbox.execute(`ls /tmp/${PLANTED} new ../new 2>/dev/null`, { language: 'shell' });
    expect(planted.stdout).toBe('');
  });

  it('a good archive is unpacked, replaces files and links, and fills folders (control)', async () => {
    await sandbox.execute(
      'mkdir -p into/there into/kept; echo old > into/there/file; echo kept > into/kept/file; ln -s "$HOST_FOLDER/secret" into/there/link; ln -s /nowhere into/there/dangling; mkfifo into/there/fifo',
      { language: 'shell', env: { HOST_FOLDER: host } },
    );
    const entries = [
      { name: Buffer.from('there'), type: 'directory' } as ArchiveEntry,
      { ...file('there/file', 'new'), executable: true },
      file('there/link', 'a file now'),
      file('there/dangling', 'a file now'),
      file('there/fifo', 'a file now'),
      file('there/deep/er/file', 'deep'),
      { ...file('x', 'raw'), name: Buffer.from([0x72, 0xff]) },
      file('-rf', 'dash'),
      file(`${'n'.repeat(255)}`, 'long'),
      link('kept-link', '/etc/passwd'),
    ];
    const unpacked = await sandbox.upload('into', archiveOf(...entries), { links: 'kept' });
    expect(unpacked).toEqual({ files: 9, folders: 1, bytes: expect.any(Number) });
    const read = async (path: string) => (await sandbox.readFile(path)).content;
    expect(await read('into/there/file')).toBe('new');
    expect(await read('into/there/link')).toBe('a file now');
    expect(await read('into/there/dangling')).toBe('a file now');
    expect(await read('into/there/fifo')).toBe('a file now');
    expect(await read('into/there/deep/er/file')).toBe('deep');
    expect(await read('into/kept/file')).toBe('kept\n');
    expect(await read('into/r\\xff')).toBe('raw');
    const { stdout } = await sandbox.execute(
      'cd into; test -x there/file && test ! -x there/link && test -O there/file && test -O there/deep && readlink kept-link; ls -A | wc -l',
      { language: 'shell' },
    );
    expect(stdout.trim().split('\n')).toEqual(['/etc/passwd', '6']);
    hostIsUntouched();
  });

  it('what no folder can hold is refused with its name', async () => {
    const tar = (...args: string[]): AsyncIterable<Uint8Array> =>
      Readable.from([execFileSync('tar', ['-c', '-C', special, ...args])]);
    const special = mkdtempSync(join(scratch, 'special-'));
    writeFileSync(join(special, 'a'), 'a');
    execFileSync('ln', [join(special, 'a'), join(special, 'b')]);
    execFileSync('mkfifo', [join(special, 'fifo')]);
    symlinkSync('/etc', join(special, 'link'));
    for (const [args, name] of [
      [['a', 'b'], '"b" is a hard link'],
      [['fifo'], '"fifo" is a FIFO'],
      [['link'], '"link" is a symbolic link'],
    ] as const) {
      await expect(sandbox.upload('special', tar(...args))).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining(name),
      });
    }
    expect(await said(sandbox.upload('special', tar('a')))).toBe('ok');
  });

  it('a torn archive is refused, and leaves nothing half-done', async () => {
    const whole = await buffer(archiveOf(file('a', 'a'.repeat(2000)), file('b', 'b'.repeat(2000))));
    for (const length of [0, 100, 1000, 3072, 4000]) {
      expect(await said(sandbox.upload('torn', Readable.from([whole.subarray(0, length)])))).toBe(
        'INPUT_INVALID',
      );
    }
    const dead = (async function* () {
      yield whole.subarray(0, 1000);
      throw new Error('the line is dead');
    })();
    expect(await said(sandbox.upload('torn', dead))).toBe('Error: the line is dead');
    const { stdout } = await sandbox.execute(
      'find . -name ".glovebox*" -o -path "./torn/*" -size -4 -name b',
      {
        language: 'shell',
      },
    );
    expect(stdout).toBe('');
    // Control.
    expect(await said(sandbox.upload('torn', Readable.from([whole])))).toBe('ok');
    expect((await sandbox.readFile('torn/b')).size).toBe(2000);
  });

  it('sizes and counts are bounded on the way in and out', async () => {
    await sandbox.execute(
      'mkdir bounded; head -c 3000 /dev/zero > bounded/a; head -c 3000 /dev/zero > bounded/b; truncate -s 100M sparse',
      { language: 'shell' },
    );
    const drained = async (options: object) => said(buffer(await sandbox.download('bounded', options)));
    expect(await drained({ maxBytes: 6000 })).toBe('ok');
    expect(await drained({ maxBytes: 5999 })).toBe('INPUT_INVALID');
    expect(await drained({ maxEntries: 2 })).toBe('ok');
    expect(await drained({ maxEntries: 1 })).toBe('INPUT_INVALID');
    expect(await said(sandbox.downloadTo('sparse', join(scratch, randomUUID()), { maxBytes: 50e6 }))).toBe(
      'INPUT_INVALID',
    );
    const two = () => archiveOf(file('a', 'x'.repeat(3000)), file('b', 'x'.repeat(3000)));
    expect(await said(sandbox.upload('b1', two(), { maxBytes: 6000, maxEntries: 2 }))).toBe('ok');
    expect(await said(sandbox.upload('b2', two(), { maxBytes: 5999 }))).toBe('INPUT_INVALID');
    expect(await said(sandbox.upload('b3', two(), { maxEntries: 1 }))).toBe('INPUT_INVALID');
  });

  it('names as a listing shows them are read and removed, whatever their bytes', async () => {
    const { files } = await sandbox.listFiles('tree/names');
    expect(files.length).toBe(10);
    for (const { name, path } of files) {
      const content = Buffer.from(await sandbox.readBytes(path));
      expect([name, content.length > 0]).toEqual([name, true]);
      await sandbox.removeFile(path);
    }
    expect((await sandbox.listFiles('tree/names')).files).toEqual([]);
  });

  it.skipIf(!sharesTheKernel(target) || isAtLeast(target.capabilities.isolation, 'container'))(
    'a file on which a program holds a lease makes nobody wait',
    async () => {
      await using leased = await open(target);
      const ran = await whileRunning(
        leased,
        `import fcntl, signal
signal.signal(signal.SIGIO, signal.SIG_IGN)
os.mkdir('l'); open('l/free', 'w').write('free'); held = os.open('l/held', os.O_CREAT | os.O_RDWR)
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)`,
        async () => {
          const started = performance.now();
          expect(await said(leased.readFile('l/held'))).toBe('INPUT_INVALID');
          const out = mkdtempSync(join(scratch, 'out-'));
          const { skipped } = await leased.downloadTo('l', out);
          expect(skipped).toEqual([{ path: 'held', because: 'held by a program' }]);
          expect(readdirSync(out)).toEqual(['free']);
          expect(performance.now() - started).toBeLessThan(5000);
        },
      );
      expect(ran.outcome).toBe('exited');
    },
  );

  it('removes a link and not what it leads to, and nothing through one', async () => {
    await sandbox.execute(
      'mkdir -p rm/real; echo x > rm/real/file; ln -s real rm/to-real; ln -s real/file rm/to-file; ln -s "$HOST_FOLDER" rm/out; mkfifo rm/fifo; ln rm/real/file rm/hard; ln -s /nowhere rm/dangling',
      { language: 'shell', env: { HOST_FOLDER: host } },
    );
    expect(await said(sandbox.removeFile('rm/out/secret'))).toMatch(REFUSED);
    expect(await said(sandbox.removeFile('rm/to-real/file'))).toMatch(REFUSED);
    for (const name of [
      'to-real',
      'to-file',
      'out',
      'hard',
      'dangling',
      ...(sharesTheKernel(target) ? ['fifo'] : []),
    ]) {
      await sandbox.removeFile(`rm/${name}`, { recursive: name === 'out' });
    }
    const names = async () => (await sandbox.listFiles('rm')).files.map(({ name }) => name);
    expect(await names()).toEqual(['real']);
    expect((await sandbox.readFile('rm/real/file')).content).toBe('x\n');
    expect(await said(sandbox.removeFile('rm/real'))).toBe('INPUT_INVALID');
    expect(await said(sandbox.removeFile('rm/none'))).toBe('FILE_NOT_FOUND');
    expect(await said(sandbox.removeFile('rm/real/file/below'))).toBe('INPUT_INVALID');
    for (const top of ['.', '/workspace', 'rm/..']) {
      expect(await said(sandbox.removeFile(top, { recursive: true }))).toBe('INPUT_INVALID');
    }
    await sandbox.removeFile('rm/real', { recursive: true });
    expect(await names()).toEqual([]);
    hostIsUntouched();
  });

  it('removes the hostile tree: any depth, any mode, any name', async () => {
    await using fresh = await open(target);
    const made = await fresh.execute(`${PRELUDE}\n${program('makes-a-tree-to-carry.py')}`, {
      env: { HOST_FOLDER: host },
    });
    expect(made.stdout, made.stderr).toBe('made\n');
    await fresh.removeFile('tree', { recursive: true });
    expect((await fresh.listFiles()).files.map(({ name }) => name)).toEqual(['main.py']);
    hostIsUntouched();
  });

  it('a listing of more than ten thousand says that it is cut', async () => {
    await using fresh = await open(target);
    await fresh.execute('import os\nos.mkdir("m")\nfor n in range(10001): open(f"m/{n}", "w").close()', {
      timeout: 60,
    });
    const listed = await fresh.listFiles('m');
    expect([listed.files.length, listed.truncated]).toEqual([10_000, true]);
    await fresh.removeFile('m/1');
    const whole = await fresh.listFiles('m');
    expect([whole.files.length, whole.truncated]).toEqual([10_000, undefined]);
  });

  it('what changes while it is carried makes no archive that is torn, and leads nowhere', async () => {
    await using busy = await open(target);
    let carried = 0;
    let removed = 0;
    const wrong: string[] = [];
    await whileRunning(
      busy,
      program('changes-what-is-carried.py'),
      async () => {
        const end = Date.now() + RACE_MS;
        for (let turn = 0; turn < 300 && Date.now() < end; turn++) {
          const bytes = await buffer(await busy.download('busy')).catch((error: Error) => {
            wrong.push(String(error));
            return Buffer.alloc(0);
          });
          if (bytes.includes(SECRET)) wrong.push('LEAKED');
          if (bytes.length > 0) {
            for await (const { content } of readArchive(Readable.from([bytes]))) await buffer(content);
            carried++;
          }
          const gone = await said(busy.removeFile('busy/a', { recursive: true }));
          if (gone === 'ok') removed++;
          else if (!REFUSED.test(gone)) wrong.push(gone);
        }
      },
      { HOST_FOLDER: host },
    );
    expect(wrong).toEqual([]);
    expect(carried).toBeGreaterThan(5);
    expect(removed).toBeGreaterThan(0);
    hostIsUntouched();
  });

  it('thousands of transfers beside a program that swaps folders and links reach nothing outside', async () => {
    const leaked: string[] = [];
    let inside = 0;
    let refused = 0;
    await using racing = await open(target);
    const out = mkdtempSync(join(scratch, 'race-'));
    await whileRunning(
      racing,
      program('swaps-folders-and-links.py'),
      async () => {
        const end = Date.now() + RACE_MS;
        for (let turn = 0; turn < 700 && Date.now() < end; turn++) {
          const tries = await Promise.all([
            said(racing.upload('dir', archiveOf(file('written'), file('folder/secret', 'inside')))),
            said(racing.upload('.', archiveOf(file('dir/written'), file('dir/new/file')))),
            said(racing.downloadTo('dir', join(out, `${turn}`))),
            said(racing.downloadTo('.', join(out, `${turn}-all`))),
            said(racing.removeFile('dir/written')),
            said(racing.removeFile('dir/new', { recursive: true })),
            said(racing.downloadTo('dir/folder', join(out, `${turn}-folder`))),
            said(racing.removeFile('dir/folder/none')),
          ]);
          for (const one of tries) {
            if (one === 'ok') inside++;
            else if (REFUSED.test(one)) refused++;
            else leaked.push(one);
          }
        }
      },
      { HOST_FOLDER: host },
    );
    expect(leaked).toEqual([]);
    hostIsUntouched();
    expect(contentsOf(out)).not.toContain(SECRET);
    // Control: the race was real, both faces were met.
    const often = isAtLeast(target.capabilities.isolation, 'container') ? 3 : 100;
    expect(inside).toBeGreaterThan(often);
    expect(refused).toBeGreaterThan(often);
  }, 120_000);

  it.skipIf(target.capabilities.filesystem === 'host')(
    'more than the disk holds is a refusal, and the sandbox goes on',
    async () => {
      await using small = await open(target, { diskMb: 16 });
      await small.execute('head -c 4000000 /dev/zero > taken', { language: 'shell' });
      const large = () =>
        archiveOf(
          file('a', 'x'.repeat(8 << 20)),
          file('b', 'x'.repeat(7 << 20)),
          file('c', 'x'.repeat(900_000)),
        );
      await expect(small.upload('in', large())).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining('does not fit'),
      });
      await small.removeFile('in', { recursive: true }).catch(() => {});
      await small.upload('in', archiveOf(file('a', 'x'.repeat(6 << 20))));
      const { stdout } = await small.execute('cat in/a | wc -c; ls -A', { language: 'shell' });
      expect(stdout).toBe(`${6 << 20}\nin\nmain.sh\ntaken\n`);
    },
  );

  it('transfers that fail, or that nobody reads, hold nothing open', async () => {
    const from = mkdtempSync(join(scratch, 'from-'));
    mkdirSync(join(from, 'a/b'), { recursive: true });
    for (let number = 0; number < 20; number++)
      writeFileSync(join(from, 'a/b', `${number}`), 'x'.repeat(100_000));
    await using fresh = await open(target);
    await fresh.uploadFrom(from, 'up');
    const one = async (): Promise<void> => {
      await said(fresh.uploadFrom(from, 'up', { maxBytes: 500_000 }));
      await said(fresh.uploadFrom(from, 'up', { maxEntries: 5 }));
      await said(fresh.uploadFrom(from, '../x'));
      await said(fresh.downloadTo('up', join(scratch, randomUUID()), { maxBytes: 500_000 }));
      await said(fresh.downloadTo('up', join(from, 'a/b/1')));
      for await (const _ of await fresh.download('up')) break;
      const unread = await fresh.download('up');
      unread.destroy();
      await once(unread, 'close');
      const over = new AbortController();
      const silent = (async function* () {
        yield Buffer.alloc(100);
        over.abort(new Error('enough'));
        await new Promise(() => {});
      })();
      expect(await said(fresh.upload('w', silent, { signal: over.signal }))).toBe('Error: enough');
    };
    const held = (): number => readdirSync('/proc/self/fd').length;
    await one();
    const before = held();
    for (let turn = 0; turn < 10; turn++) await one();
    await eventually('no more descriptors than before', () => held() <= before + 2);
  });

  it('closing a sandbox ends what is carried', async () => {
    const fresh = await open(target);
    await fresh.execute('head -c 20000000 /dev/zero > large', { language: 'shell' });
    const reading = await fresh.download('large');
    const iterator = reading[Symbol.asyncIterator]();
    await iterator.next();
    const endless = (async function* () {
      const bytes = await buffer(archiveOf(file('a', 'x'.repeat(1 << 20))));
      yield bytes.subarray(0, 1 << 19);
      await new Promise(() => {});
    })();
    const writing = said(fresh.upload('in', endless));
    const rest = (async () => {
      for (;;) if ((await iterator.next()).done) return;
    })();
    const [, end, came] = await Promise.all([fresh.close(), said(rest), writing]);
    expect([end, came]).toEqual(['SANDBOX_CLOSED', 'SANDBOX_CLOSED']);
  });
});

describe('a folder of the host', () => {
  const [target] = OF_THEIR_OWN;
  if (target === undefined) throw new Error('A plain process works everywhere.');

  it('is filled without following a link in it, and keeps what it has unless that is to be replaced', async () => {
    await using sandbox = await open(target);
    await sandbox.upload('t', archiveOf(file('link/evil'), file('file-link', 'evil'), file('kept', 'new')));
    const out = mkdtempSync(join(scratch, 'out-'));
    symlinkSync(host, join(out, 'link'));
    expect(await said(sandbox.downloadTo('t', out))).toBe('INPUT_INVALID');
    hostIsUntouched();
    await sandbox.removeFile('t/link', { recursive: true });
    rmSync(join(out, 'file-link'));
    symlinkSync(join(host, 'secret'), join(out, 'file-link'));
    writeFileSync(join(out, 'kept'), 'old');
    expect((await sandbox.downloadTo('t', out)).skipped).toEqual([
      { path: 'file-link', because: 'there already' },
      { path: 'kept', because: 'there already' },
    ]);
    expect(readFileSync(join(out, 'kept'), 'utf8')).toBe('old');
    await sandbox.downloadTo('t', out, { overwrite: true });
    expect(readFileSync(join(out, 'kept'), 'utf8')).toBe('new');
    expect(readFileSync(join(out, 'file-link'), 'utf8')).toBe('evil');
    hostIsUntouched();
  });

  it('is carried without its links, and without what is excluded', async () => {
    await using sandbox = await open(target);
    const from = mkdtempSync(join(scratch, 'from-'));
    mkdirSync(join(from, 'node_modules/a'), { recursive: true });
    mkdirSync(join(from, 'src/build'), { recursive: true });
    writeFileSync(join(from, 'node_modules/a/x'), 'x');
    writeFileSync(join(from, 'src/main'), 'main');
    writeFileSync(join(from, 'src/build/x'), 'x');
    symlinkSync(join(host, 'secret'), join(from, 'link'));
    const told: object[] = [];
    const carried = await sandbox.uploadFrom(from, 'into', {
      exclude: ['node_modules', 'src/build/'],
      onProgress: (progress) => told.push(progress),
    });
    expect(carried).toEqual({
      files: 1,
      folders: 1,
      bytes: 4,
      skipped: [{ path: 'link', because: 'a symbolic link' }],
    });
    expect(told.at(-1)).toEqual({ bytes: 4, files: 1, totalBytes: 4 });
    await sandbox.uploadFrom(join(from, 'src/main'), 'one/renamed');
    await sandbox.uploadFrom(join(from, 'src/main'));
    expect((await sandbox.readFile('one/renamed')).content).toBe('main');
    expect((await sandbox.readFile('main')).content).toBe('main');
    expect(await said(sandbox.uploadFrom(join(from, 'none'), 'x'))).toBe('INPUT_INVALID');
  });
});

describeMissing('transfers');
