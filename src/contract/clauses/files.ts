import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ArchiveEntry } from '../../archive/entry.ts';
import { isSandboxError } from '../../errors.ts';
import { isAtLeast } from '../../policy/isolation.ts';
import { type Carried, newNonce } from '../box.ts';
import type { Clause } from '../clause.ts';
import { must, mustEqual, mustReject, shown } from '../expectations.ts';

export const FILES_CLAUSES: readonly Clause[] = [
  {
    id: 'files-round-trip',
    promise: 'Files are written, replaced, listed and read back byte for byte, folders made on the way.',
    async check(context) {
      const box = await context.open();
      const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      await box.writeFile('a/b/data.bin', 'something longer than what replaces it'.repeat(20));
      await box.writeFile('a/b/data.bin', bytes);
      await box.writeFile('a/é 漢字.txt', 'text');
      const { content, encoding, size } = await box.readFile('a/b/data.bin');
      mustEqual(
        [Buffer.from(content, encoding), size],
        [Buffer.from(bytes), 256],
        'the content that is read back',
      );
      mustEqual(
        (await box.listFiles('a')).map((entry) => [entry.name, entry.type]).sort(),
        [
          ['b', 'directory'],
          ['é 漢字.txt', 'file'],
        ],
        'the listing',
      );
      const seen = await box.ask<[number, string]>(
        `print(json.dumps([sum(open('a/b/data.bin', 'rb').read()), open('a/é 漢字.txt').read()]))`,
      );
      mustEqual(seen, [(255 * 256) / 2, 'text'], 'what the program reads');
    },
  },
  {
    id: 'files-absolute',
    promise: 'A path may also be absolute below /workspace, or as the program sees it.',
    async check(context) {
      const box = await context.open();
      await box.writeFile('/workspace/one.txt', '1');
      const cwd = await box.ask<string>('print(json.dumps(os.getcwd())); open("two.txt", "w").write("2")');
      mustEqual(
        [(await box.readFile('one.txt')).content, (await box.readFile('/workspace/two.txt')).content],
        ['1', '2'],
        'what is read',
      );
      mustEqual((await box.readFile(`${cwd}/two.txt`)).content, '2', `what is read at ${cwd}`);
    },
  },
  {
    id: 'files-outside',
    promise: 'A path that leaves the workspace is refused, for reading, writing and listing.',
    async check(context) {
      const box = await context.open();
      await box.writeFile('a.txt', 'a');
      const paths = [
        '../etc/passwd',
        'a/../../x',
        '/etc/passwd',
        '/workspace/../etc/passwd',
        '/workspaces/x',
        '/',
      ];
      for (const path of paths) {
        await mustReject(box.readFile(path), 'PATH_OUTSIDE_WORKSPACE', `reading ${path}`);
        await mustReject(box.writeFile(path, 'x'), 'PATH_OUTSIDE_WORKSPACE', `writing ${path}`);
        await mustReject(box.listFiles(path), 'PATH_OUTSIDE_WORKSPACE', `listing ${path}`);
      }
    },
  },
  {
    id: 'files-missing',
    promise: 'A file that is not there is FILE_NOT_FOUND.',
    async check(context) {
      const box = await context.open();
      await mustReject(box.readFile('nothing.txt'), 'FILE_NOT_FOUND', 'reading it');
      await mustReject(box.listFiles('nothing'), 'FILE_NOT_FOUND', 'listing it');
    },
  },
  {
    id: 'files-link-read',
    promise: 'A link that the program made is never followed for reading or listing, wherever it leads.',
    async check(context) {
      const box = await context.open();
      await box.python('import os\nos.symlink("/etc/passwd", "file")\nos.symlink("/etc", "folder")');
      await mustReject(box.readFile('file'), 'PATH_OUTSIDE_WORKSPACE', 'reading a link to /etc/passwd');
      await mustReject(
        box.readFile('folder/passwd'),
        'PATH_OUTSIDE_WORKSPACE',
        'reading through a link to /etc',
      );
      await mustReject(box.listFiles('folder'), 'PATH_OUTSIDE_WORKSPACE', 'listing a link to /etc');
      const entries = (await box.listFiles()).filter(({ name }) => name === 'file' || name === 'folder');
      mustEqual(
        entries.map(({ type }) => type),
        ['symlink', 'symlink'],
        'how the links are listed',
      );
    },
  },
  {
    id: 'files-link-write',
    promise: 'A link that the program made is never followed for writing: it is replaced or refused.',
    async check(context) {
      const box = await context.open();
      const onHost = join(tmpdir(), newNonce());
      await writeFile(onHost, 'untouched', { mode: 0o666, flag: 'wx' });
      try {
        await box.python(
          `import os, sys
with open('target', 'w') as file: file.write('untouched')
os.mkdir('real')
os.symlink(os.path.abspath('target'), 'inside')
os.symlink(sys.argv[1], 'outside')
os.symlink(os.path.dirname(sys.argv[1]), 'folder')`,
          { args: [onHost] },
        );
        const name = onHost.slice(onHost.lastIndexOf('/') + 1);
        for (const path of ['inside', 'outside', `folder/${name}`]) {
          await box.writeFile(path, 'changed').catch((error: unknown) => {
            must(
              isSandboxError(error) && error.code === 'PATH_OUTSIDE_WORKSPACE',
              `writing ${path} failed with ${String(error)}`,
            );
          });
        }
        mustEqual((await box.readFile('target')).content, 'untouched', 'the target inside');
        mustEqual(await readFile(onHost, 'utf8'), 'untouched', "the target on the host's side");
      } finally {
        await rm(onHost, { force: true });
      }
    },
  },
  {
    id: 'files-special',
    promise: 'What is not a regular file is refused, and a FIFO never makes anybody wait.',
    async check(context) {
      const box = await context.open();
      await box.python('import os\nos.mkfifo("fifo")\nos.mkdir("folder")');
      const kept = (await box.listFiles()).some(({ name }) => name === 'fifo');
      // A kernel of the program's own keeps its FIFOs to itself, and takes them with it.
      must(kept || isAtLeast(box.enforced.isolation, 'kernel'), 'a FIFO that was made is not there');
      const startedAt = performance.now();
      await mustReject(box.readFile('fifo'), kept ? 'INPUT_INVALID' : 'FILE_NOT_FOUND', 'reading a FIFO');
      await mustReject(box.readFile('folder'), 'INPUT_INVALID', 'reading a folder');
      await box.writeFile('fifo', 'a file now').catch((error: unknown) => {
        must(isSandboxError(error), `writing to a FIFO failed with ${String(error)}`);
      });
      const tookSec = (performance.now() - startedAt) / 1000;
      must(tookSec < 2, `it took ${tookSec.toFixed(1)} s`);
    },
  },
  {
    id: 'files-bounded',
    promise: 'A file that is larger than the caller allows is refused, not cut and not swallowed whole.',
    async check(context) {
      const guest = await context.guest();
      await guest.writeFile('ten', Buffer.from('0123456789'));
      mustEqual((await guest.readFile('ten', 10)).byteLength, 10, 'the length of a file that just fits');
      await mustReject(guest.readFile('ten', 9), 'INPUT_INVALID', 'reading 10 bytes where 9 are allowed');
    },
  },
  {
    id: 'files-remove',
    promise:
      'A file is removed, a folder only with all that is in it when that is asked for, and nothing outside.',
    async check(context) {
      const box = await context.open();
      await box.writeFile('folder/deep/file', 'x');
      await box.writeFile('file', 'x');
      await box.writeFile('kept', 'x');
      await mustReject(
        box.removeFile('folder'),
        'INPUT_INVALID',
        'removing a folder that was not meant to go',
      );
      must(
        (await box.readFile('folder/deep/file')).content === 'x',
        'a folder that was not removed is not whole',
      );
      await box.removeFile('file');
      await box.removeFile('folder', { recursive: true });
      const left = (await box.listFiles()).map(({ name }) => name);
      mustEqual(left, ['kept'], 'what is left');
      await mustReject(box.removeFile('file'), 'FILE_NOT_FOUND', 'removing what is gone');
      await mustReject(box.removeFile('../x'), 'PATH_OUTSIDE_WORKSPACE', 'removing ../x');
      await mustReject(box.removeFile('.', { recursive: true }), 'INPUT_INVALID', 'removing the workspace');
    },
  },
  {
    id: 'files-remove-link',
    promise: 'Removing a link removes the link, and nothing is removed through one.',
    async check(context) {
      const box = await context.open();
      await box.python(`import os
os.mkdir('real')
with open('real/file', 'w') as file: file.write('kept')
os.symlink('real', 'folder')
os.symlink('real/file', 'file')`);
      await mustReject(box.removeFile('folder/file'), 'PATH_OUTSIDE_WORKSPACE', 'removing through a link');
      await box.removeFile('file');
      await box.removeFile('folder', { recursive: true });
      mustEqual((await box.readFile('real/file')).content, 'kept', 'what the links led to');
      const left = (await box.listFiles()).map(({ name }) => name).filter((name) => !name.endsWith('.py'));
      mustEqual(left, ['real'], 'what is left');
    },
  },
  {
    id: 'files-carry',
    promise:
      'A folder is carried out as a tar archive and in again, byte for byte, with programs and links as such.',
    async check(context) {
      const box = await context.open();
      await box.python(`import os
os.makedirs('from/deep')
with open('from/deep/text', 'w') as file: file.write('inside')
with open('from/tool', 'w') as file: file.write('tool')
os.chmod('from/tool', 0o750)
os.link('from/tool', 'from/twin')
os.symlink('/etc/passwd', 'from/link')
os.mkfifo('from/fifo')`);
      const wanted: Carried = [
        ['deep', 'directory', ''],
        ['deep/text', 'file', 'inside'],
        ['link', 'symlink', '/etc/passwd'],
        ['tool', 'program', 'tool'],
        ['twin', 'program', 'tool'],
      ];
      mustEqual(await box.carriedOut('from'), wanted, 'what is carried out');
      await box.writeFile('to/tool', 'old');
      await box.writeFile('to/kept', 'kept');
      await box.carryIn(
        'to',
        wanted.map(([name, type, content]) => entry(name, type, content)),
        { links: 'kept' },
      );
      mustEqual(
        await box.carriedOut('to'),
        [...wanted.slice(0, 2), ['kept', 'file', 'kept'], ...wanted.slice(2)],
        'what was carried in',
      );
      mustEqual(await box.carriedOut('to/deep/text'), [['text', 'file', 'inside']], 'a single file');
      await mustReject(box.carriedOut('none'), 'FILE_NOT_FOUND', 'carrying out what is not there');
    },
  },
  {
    id: 'files-carry-out-confined',
    promise: 'What is carried out comes from the workspace, whatever links the program made.',
    async check(context) {
      const box = await context.open();
      await box.python(
        'import os\nos.mkdir("a")\nos.symlink("/etc", "a/etc")\nos.symlink("/etc/passwd", "file")',
      );
      for (const path of ['a/etc', 'a/etc/passwd', 'file', '..', '/etc']) {
        await mustReject(box.carriedOut(path), 'PATH_OUTSIDE_WORKSPACE', `carrying out ${path}`);
      }
      mustEqual(await box.carriedOut('a'), [['etc', 'symlink', '/etc']], 'a folder with a link to /etc');
    },
  },
  {
    id: 'files-carry-in-confined',
    promise:
      'What is carried in stays in its folder, whatever its names and whatever links the program made.',
    async check(context) {
      const box = await context.open();
      const onHost = await mkdtemp(join(tmpdir(), newNonce()));
      try {
        await box.python(
          `import os, sys
os.mkdir('real')
os.mkdir('to')
os.symlink(sys.argv[1], 'to/outside')
os.symlink('../real', 'to/inside')`,
          { args: [onHost] },
        );
        const made = [entry('link', 'symlink', onHost), entry('link/new', 'file', 'x')];
        for (const entries of [
          [entry('outside/new', 'file', 'x')],
          [entry('inside/new', 'file', 'x')],
          [entry('../new', 'file', 'x')],
          [entry('a/../../new', 'file', 'x')],
          [entry(`${onHost}/new`, 'file', 'x')],
          made,
        ]) {
          const what = `carrying in ${entries.map(({ name }) => String(name)).join(' and ')}`;
          await mustReject(box.carryIn('to', entries, { links: 'kept' }), 'PATH_OUTSIDE_WORKSPACE', what);
        }
        await mustReject(
          box.carryIn('to/outside', [entry('new', 'file', 'x')]),
          'PATH_OUTSIDE_WORKSPACE',
          'carrying into a link',
        );
        await mustReject(
          box.carryIn('to', [entry('unwanted', 'symlink', 'x')]),
          'INPUT_INVALID',
          'carrying in a link that nobody allowed',
        );
        mustEqual(await readdir(onHost), [], "the folder on the host's side");
        mustEqual(await box.listFiles('real'), [], 'the folder that a link leads to');
        await box.carryIn('to', [entry('new', 'file', 'x')]);
        mustEqual((await box.readFile('to/new')).content, 'x', 'what was carried in');
      } finally {
        await rm(onHost, { recursive: true, force: true });
      }
    },
  },
  {
    id: 'files-carry-bounded',
    promise:
      'What is carried is bounded in bytes and in number, both ways; an archive that is not whole is refused.',
    async check(context) {
      const box = await context.open();
      const two = [entry('a', 'file', 'x'.repeat(3000)), entry('b', 'file', 'x'.repeat(3000))];
      await box.carryIn('fits', two, { maxBytes: 6000, maxEntries: 2 });
      mustEqual(
        (await box.carriedOut('fits', { maxBytes: 6000, maxEntries: 2 })).length,
        2,
        'what just fits',
      );
      for (const [limits, what] of [
        [{ maxBytes: 5999 }, '6000 bytes where 5999 are allowed'],
        [{ maxEntries: 1 }, '2 files where 1 is allowed'],
      ] as const) {
        await mustReject(box.carriedOut('fits', limits), 'INPUT_INVALID', `carrying out ${what}`);
        await mustReject(box.carryIn('more', two, limits), 'INPUT_INVALID', `carrying in ${what}`);
      }
      const { writeArchive } = await import('../../archive/writeArchive.ts');
      const whole = await buffer(writeArchive(two));
      for (const length of [100, 2000, 3584]) {
        const torn = whole.subarray(0, length);
        await mustReject(
          box.carryIn('torn', torn),
          'INPUT_INVALID',
          `carrying in ${length} bytes of an archive`,
        );
      }
    },
  },
  {
    id: 'files-last',
    promise: "Files last between a sandbox's executions; variables and processes do not.",
    async check(context) {
      const box = await context.open();
      await box.python('kept = 1\nwith open("kept.txt", "w") as file: file.write("kept")');
      const seen = await box.ask<[string, boolean]>(
        'print(json.dumps([open("kept.txt").read(), "kept" in globals()]))',
      );
      mustEqual(seen, ['kept', false], 'what the second program finds');
      const { content } = await box.readFile('kept.txt');
      must(content === 'kept', `the file reads ${shown(content)}`);
    },
  },
];

/** An entry of an archive, by the words that {@link Carried} has for it. */
function entry(name: string, type: string, content: string): ArchiveEntry {
  const bytes = Buffer.from(content);
  const named = { name: Buffer.from(name) };
  if (type === 'directory') return { ...named, type };
  if (type === 'symlink') return { ...named, type, target: bytes };
  return { ...named, type: 'file', executable: type === 'program', size: bytes.length, content: [bytes] };
}
