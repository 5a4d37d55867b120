/** The root of sandboxes is a folder that was given: what is there, what is not, and what is refused. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getSandbox, type LanguageName } from '../../src/index.ts';
import { gvisor } from '../../src/runtimes/gvisor/index.ts';
import { withExportedRoot } from '../support/exportedRoot.ts';

const TITLE = 'a given root';

await withExportedRoot(TITLE, (root) => {
  describe(TITLE, () => {
    const sandbox = getSandbox({ runtime: gvisor({ root }) });
    const run = (code: string, language: LanguageName = 'shell') => sandbox.execute(code, { language });
    const inRoot = (path: string): string => join(root, path);

    it('is what programs see, and nothing of the host is', async () => {
      writeFileSync(inRoot('etc/glovebox-mark'), 'of the root\n');
      const look = 'for path in /usr/bin/runsc /etc/glovebox-mark; do test -e $path && echo $path; done';
      expect(execFileSync('/bin/sh', ['-c', `${look}; true`], { encoding: 'utf8' })).toBe('/usr/bin/runsc\n');
      expect((await run(look)).stdout).toBe('/etc/glovebox-mark\n');
    });

    it.each<[LanguageName, string, string]>([
      ['python', 'import sys; print(sys.version.split()[0], sys.executable)', 'usr/bin/python3'],
      ['javascript', 'console.log(process.version.slice(1), process.execPath)', 'usr/local/bin/node'],
      ['shell', 'echo "$(echo $BASH_VERSION | cut -d "(" -f 1) $BASH"', 'usr/bin/bash'],
    ])('has its own %s, which the result names', async (language, code, path) => {
      expect(lstatSync(inRoot(path)).isFile() || lstatSync(inRoot(path)).isSymbolicLink()).toBe(true);
      const { stdout, meta } = await run(code, language);
      const [version = '', executable = ''] = stdout.trim().split(' ');
      expect(meta.versions['interpreter']).toBe(version);
      expect(executable).toMatch(/^\/(usr\/(local\/)?)?bin\//);
    });

    it('is not written to, neither by programs nor by us', async () => {
      const listing = (): string =>
        execFileSync('find', [root, '-xdev', '-printf', '%p %m %U %s %T@ %l\n'], {
          encoding: 'utf8',
          maxBuffer: 2 ** 28,
        });
      mkdirSync(inRoot('opt/open'));
      chmodSync(inRoot('opt/open'), 0o777);
      const before = listing();
      const { stdout, stderr } = await run(
        'for place in /opt/open /etc /usr/bin /var /workspace; do echo x >"$place/new" && cat "$place/new"; done',
      );
      expect(stdout).toBe('x\n');
      expect(stderr).toMatch(/opt\/open\/new: Read-only file system/);
      expect(listing()).toBe(before);
    });

    it('names the user and the host as every sandbox does', async () => {
      const { stdout } = await run('id -un; getent passwd sandbox; getent hosts localhost; hostname');
      expect(stdout).toMatch(/^sandbox\nsandbox:x:1000:1000:.*\n\S+ +localhost.*\nglovebox\n$/);
    });

    it('has no devices of the host, even where somebody put one', async () => {
      execFileSync('mknod', ['-m', '666', inRoot('opt/zeros'), 'c', '1', '5']);
      expect(execFileSync('head', ['-c', '3', inRoot('opt/zeros')])).toEqual(Buffer.alloc(3));
      const { stdout, stderr, exitCode } = await run('head -c 3 /opt/zeros');
      expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 1 });
      expect(stderr).toContain('Permission denied');
    });

    it('does not show what is mounted in it', async () => {
      const mounted = inRoot('srv');
      execFileSync('mount', ['-t', 'tmpfs', 'given-root-test', mounted]);
      try {
        writeFileSync(join(mounted, 'secret'), 'told');
        const { stdout, stderr } = await run('cat /srv/secret');
        expect(stdout).toBe('');
        expect(stderr).toContain('No such file');
      } finally {
        execFileSync('umount', [mounted]);
      }
    });

    it('may have links in place of folders: they lead nowhere on the host', async () => {
      const outside = mkdtempSync(join(tmpdir(), 'given-root-test-'));
      const moved = ['etc', 'tmp', 'workspace'];
      try {
        for (const name of moved) {
          renameSync(inRoot(name), inRoot(`${name}-moved`));
          symlinkSync(outside, inRoot(name));
        }
        symlinkSync(outside, inRoot('opt/outside'));
        writeFileSync(join(outside, 'secret'), 'told');
        const { stdout } = await run(
          'cat /opt/outside/secret; cat /etc/passwd | grep -c sandbox; echo x >/tmp/t; test -x /bin/sh && echo /bin/sh',
        );
        expect(stdout).toBe('1\n/bin/sh\n');
        expect(readdirSync(outside)).toEqual(['secret']);
      } finally {
        for (const name of moved) {
          rmSync(inRoot(name));
          renameSync(inRoot(`${name}-moved`), inRoot(name));
        }
        rmSync(outside, { recursive: true });
      }
    });

    it('that lacks a language says so, also when it lost it a moment ago, and takes it back', async () => {
      const node = inRoot('usr/local/bin/node');
      expect((await run('console.log(1)', 'javascript')).stdout).toBe('1\n');
      renameSync(node, inRoot('opt/node'));
      try {
        await expect(run('console.log(1)', 'javascript')).rejects.toMatchObject({
          code: 'LANGUAGE_UNAVAILABLE',
          message: expect.stringContaining('has no node to run javascript'),
          hint: expect.stringContaining('GVISOR_ROOT'),
        });
        expect((await run('echo still')).stdout).toBe('still\n');
      } finally {
        renameSync(inRoot('opt/node'), node);
      }
      expect((await run('console.log(2)', 'javascript')).stdout).toBe('2\n');
    });

    describe('is looked at once', () => {
      let cache: string;
      const cached = process.env['XDG_CACHE_HOME'];
      beforeEach(() => {
        cache = mkdtempSync(join(tmpdir(), 'given-root-test-'));
        process.env['XDG_CACHE_HOME'] = cache;
      });
      afterEach(() => {
        if (cached === undefined) delete process.env['XDG_CACHE_HOME'];
        else process.env['XDG_CACHE_HOME'] = cached;
        rmSync(cache, { recursive: true });
      });
      const looks = (): string[] => readdirSync(join(cache, 'glovebox/roots'));
      const version = async (): Promise<string | undefined> => {
        const trusting = getSandbox({ runtime: gvisor({ root, trustEarlierTrial: true }) });
        return (await trusting.execute('', { language: 'python' })).meta.versions['interpreter'];
      };

      it('by whoever trusts earlier looks, until an interpreter in it changes', async () => {
        const before = await version();
        const [look = ''] = looks();
        const file = join(cache, 'glovebox/roots', look);
        // Whoever believes what is kept says this.
        writeFileSync(file, readFileSync(file, 'utf8').replaceAll(String(before), '3.0.0-kept'));
        expect(await version()).toBe('3.0.0-kept');
        const wrapper = inRoot('usr/local/bin/python3');
        writeFileSync(wrapper, '#!/bin/sh\nexec /usr/bin/python3 "$@"\n', { mode: 0o755 });
        try {
          expect(await version()).toBe(before);
        } finally {
          rmSync(wrapper);
        }
      });
    });

    it.each<[string, RegExp, (place: string) => void]>([
      ['that is not there', /cannot be looked at/, (place) => rmSync(place, { recursive: true })],
      [
        'that is a file',
        /is not a folder/,
        (place) => {
          rmSync(place, { recursive: true });
          writeFileSync(place, '');
        },
      ],
      ['without /bin/sh', /has no \/bin\/sh/, () => {}],
      [
        'whose /bin/sh is only there on the host',
        /has no \/bin\/sh/,
        (place) => symlinkSync('/usr/bin', join(place, 'bin')),
      ],
      ['that others may write to', /may be written to by other users/, (place) => chmodSync(place, 0o775)],
      ["that is another user's", /belongs to the user 12345/, (place) => chownSync(place, 12345, 0)],
    ])('%s is refused', async (_, reason, prepare) => {
      const folder = mkdtempSync(join(tmpdir(), 'given-root-test-'));
      const place = join(folder, 'root');
      mkdirSync(place, { mode: 0o755 });
      try {
        prepare(place);
        await expect(gvisor({ root: place }).probe()).rejects.toMatchObject({
          code: 'CONFIG_INVALID',
          message: expect.stringMatching(reason),
          hint: expect.stringContaining('GVISOR_ROOT'),
        });
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    it("is never the host's own", async () => {
      await expect(gvisor({ root: '/' }).probe()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining("this host's own root"),
      });
    });

    it('with a shell that does not run is unavailable, with the reason', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'given-root-test-'));
      try {
        mkdirSync(join(folder, 'root/bin'), { recursive: true });
        writeFileSync(join(folder, 'root/bin/sh'), 'not a program', { mode: 0o755 });
        expect(await gvisor({ root: join(folder, 'root') }).probe()).toMatchObject({
          available: false,
          reason: expect.stringContaining('could not be started'),
          fix: expect.stringContaining('/bin/sh, sed, tr'),
        });
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });
});
