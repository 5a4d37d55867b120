/** Builds images with the real engine, each from a small one that is derived from the image of the sandboxes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/config/index.ts';
import { getSandbox } from '../../src/index.ts';
import { buildImage } from '../../src/operations/buildImage.ts';
import { buildImage as buildFrom } from '../../src/runtimes/docker/build.ts';
import { type Connection, connect } from '../../src/runtimes/docker/connect.ts';
import { docker } from '../../src/runtimes/docker/index.ts';
import { DEFAULT_DOCKER_SETTINGS } from '../../src/runtimes/docker/settings.ts';
import { ensureBuilt, MAIN } from './support/build.ts';
import { useCommand } from './support/command.ts';

const probe = await docker().probe();
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('docker');

/** On every image that is made here, and on what is built from one of them. */
const LABEL = 'io.glovebox.test';
const NONCE = randomBytes(6).toString('hex');

/** Package managers that only say how they were called; a package called `slow` takes for ever. */
const TELLTALE = `
FROM ${DEFAULT_DOCKER_SETTINGS.image}
USER root
LABEL ${LABEL}=${NONCE}
WORKDIR /
RUN for tool in npm apt-get; do \\
      rm -f /usr/local/bin/$tool; \\
      printf '#!/bin/sh\\nfor word; do printf "%%s was given <%%s>\\\\n" '$tool' "$word"; done\\n' >/usr/local/bin/$tool; \\
      chmod 755 /usr/local/bin/$tool; \\
    done; \\
    printf '%s\\n' 'import sys, time' 'for word in sys.argv[1:]: print(f"pip was given <{word}>", flush=True)' \\
      'if "slow" in sys.argv: time.sleep(100_000)' >"$(python3 -c 'import site; print(site.getsitepackages()[0])')/pip.py"
`;

const PYTHON_ONLY = `
FROM ${DEFAULT_DOCKER_SETTINGS.image}
USER root
LABEL ${LABEL}=${NONCE}
RUN rm -f "$(command -v node)"
`;

const WITHOUT_PYTHON = `
FROM ${DEFAULT_DOCKER_SETTINGS.image}
USER root
LABEL ${LABEL}=${NONCE}
RUN rm -f "$(command -v python3)" "$(command -v apt-get)"
`;

/** A build writes some hundred megabytes, and a busy disk takes its time. */
const BUILD_DEADLINE_MS = 150_000;
const TEST_TIMEOUT_MS = 180_000;

const image = (name: string): string => `glovebox-test-${name}:${NONCE}`;

if (!probe.available && !required) {
  describe.skip(`images (not available: ${probe.reason})`, () => {
    it('are built', () => {});
  });
} else {
  describe('images', { timeout: TEST_TIMEOUT_MS }, () => {
    const command = useCommand();
    let connection: Connection;

    beforeAll(async () => {
      const found = await connect(undefined);
      if ('reason' in found) throw new Error(found.reason);
      connection = found;
      await derive('telltale', TELLTALE);
      await derive('python-only', PYTHON_ONLY);
      await derive('without-python', WITHOUT_PYTHON);
    }, TEST_TIMEOUT_MS);
    afterAll(() => (probe.available ? removeAll(connection) : undefined), TEST_TIMEOUT_MS);

    const build = (...args: string[]) =>
      command.run(['images', 'build', ...args], { deadlineMs: BUILD_DEADLINE_MS });

    async function derive(name: string, dockerfile: string): Promise<void> {
      const content = Buffer.from(dockerfile);
      await buildFrom(connection.engine, {
        tag: image(name),
        context: [{ name: 'Dockerfile', mode: 0o644, size: content.length, content: [content] }],
        buildArguments: {},
      });
    }

    it('are built from a base that has everything, and told with what is in them', async () => {
      const tag = image('whole');
      const built = await build('--base', image('python-only'), '--tag', tag);
      expect(built).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(
          /^glovebox-test-whole:\w+ \(sha256:\w{12}, \d+ MB\): python 3\.\d+\.\d+, javascript \d+\.\d+\.\d+, shell 5\.\d+\.\d+\n$/,
        ),
        stderr: expect.stringContaining('Step 1/'),
      });
      const sandbox = getSandbox({ runtime: docker({ image: tag }) });
      for (const [language, code] of [
        ['python', 'print("hello")'],
        ['javascript', 'console.log("hello")'],
        ['shell', 'echo hello'],
      ] as const) {
        const { stdout, exitCode } = await sandbox.execute(code, { language });
        expect({ language, stdout, exitCode }).toEqual({ language, stdout: 'hello\n', exitCode: 0 });
      }
    });

    it('are told as JSON too', async () => {
      const tag = image('json');
      const built = await build('--base', image('python-only'), '--tag', tag, '--json');
      expect(JSON.parse(built.stdout)).toEqual({
        tag,
        id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        size_mb: expect.any(Number),
        interpreters: {
          python: { path: expect.stringMatching(/^\//), version: expect.stringMatching(/^3\./) },
          javascript: { path: '/usr/local/bin/node', version: process.versions.node },
          shell: { path: expect.stringMatching(/^\//), version: expect.stringMatching(/^5\./) },
        },
      });
    });

    it('that lack a language run the others, and refuse that one with the fix', async () => {
      const sandbox = getSandbox({ runtime: docker({ image: image('python-only') }) });
      expect(await sandbox.execute('print(6 * 7)', { language: 'python' })).toMatchObject({ stdout: '42\n' });
      await expect(sandbox.execute('console.log(1)', { language: 'javascript' })).rejects.toMatchObject({
        code: 'LANGUAGE_UNAVAILABLE',
        message: `The image ${image('python-only')} has no node to run javascript.`,
        hint: expect.stringContaining('glovebox images build'),
      });
    });

    it('are not built from a base that would have to be pulled', async () => {
      const base = image('nowhere');
      expect(await build('--base', base, '--tag', image('never'))).toMatchObject({
        status: 125,
        stdout: '',
        stderr: expect.stringMatching(
          /^glovebox: There is no image \S+ on this engine to start from, and nothing is pulled silently\.\n {2}Run: docker pull glovebox-test-nowhere:\w+ \(or add --pull\)/,
        ),
      });
    });

    it('are not built from a base without Python and without a way to get it', async () => {
      const base = image('without-python');
      expect(await build('--base', base, '--tag', image('never'))).toMatchObject({
        status: 125,
        stdout: '',
        stderr: expect.stringContaining(
          'glovebox: The image could not be built: This base lacks python3, and has no apt-get to install it.\n  Use a base of Debian 12',
        ),
      });
    });

    it('give packages to the package managers word by word, and never as options or patterns', async () => {
      const said: string[] = [];
      const { settings } = await loadSettings({ env: {}, cwd: tmpdir(), homeDir: tmpdir() });
      await buildImage({
        loaded: { settings: { ...settings, pythonPackages: ['numpy==1.*'], shellPackages: ['jq'] } },
        base: image('telltale'),
        tag: image('packages'),
        // In the folder where it is installed there is a `bin`.
        packages: { python: ['numpy==1.*', 'bi[n]'], javascript: ['@scope/a@^1.0.0'] },
        onLine: ({ text }) => said.push(text),
      });
      const given = (tool: string) =>
        said.flatMap((line) => (line.startsWith(`${tool} was given `) ? [line.slice(tool.length + 11)] : []));
      const names = (words: string[]) => words.slice(words.indexOf('<-->'));
      expect(names(given('pip'))).toEqual(['<-->', '<numpy==1.*>', '<bi[n]>']);
      expect(names(given('npm'))).toEqual(['<-->', '<@scope/a@^1.0.0>']);
      expect(names(given('apt-get'))).toEqual(['<-->', '<jq>']);
    });

    it.each([
      [
        '--packages',
        '--index-url=http://a.example',
        '"--index-url=http://a.example" is no package for python.',
      ],
      ['--node', MAIN, `${MAIN} is no Linux program for `],
      ['--tag', 'Upper Case', 'The engine does not take this build: '],
    ])('are not built with %s %s', async (option, value, sentence) => {
      const args = ['--base', image('telltale'), `${option}=${value}`];
      const tag = option === '--tag' ? [] : ['--tag', image('never')];
      expect(await build(...args, ...tag)).toMatchObject({
        status: 125,
        stdout: '',
        stderr: expect.stringContaining(`glovebox: ${sentence}`),
      });
    });

    it('are given up at Ctrl-C, with what was running', async () => {
      await ensureBuilt();
      const args = ['--base', image('telltale'), '--tag', image('never'), '--packages', 'slow'];
      const child = spawn(process.execPath, [MAIN, 'images', 'build', ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: BUILD_DEADLINE_MS,
      });
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      await says(child, 'pip was given <slow>');
      expect(await runningBuilds(connection)).toHaveLength(1);
      const rest = Promise.all([text(child.stdout), text(child.stderr)]);
      child.kill('SIGINT');
      expect({ status: await ended, said: await rest }).toEqual({
        status: 130,
        said: ['', 'glovebox: cancelled\n'],
      });
      await expect.poll(() => runningBuilds(connection), { timeout: 10_000 }).toEqual([]);
    });
  });
}

/** Resolves when it has said so on standard error; what comes later is still to be read. */
function says({ stderr }: ChildProcess, sentence: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const read = (chunk: Buffer): void => {
      said += chunk.toString();
      if (!said.includes(sentence)) return;
      stderr?.off('data', read);
      stderr?.pause();
      resolve();
    };
    stderr?.on('data', read);
    stderr?.once('end', () => reject(new Error(`It ended without saying so: ${said}`)));
  });
}

/** Containers of builds from an image of this file: a build's container has its base's labels. */
async function runningBuilds({ engine }: Connection): Promise<unknown[]> {
  const filters = JSON.stringify({ label: [`${LABEL}=${NONCE}`] });
  return engine.call<unknown[]>('GET', `/containers/json?all=1&filters=${encodeURIComponent(filters)}`);
}

/** Every image with our label, whether it has a name or is what a failed build left. */
async function removeAll({ engine }: Connection): Promise<void> {
  const label = [`${LABEL}=${NONCE}`];
  const named = await engine.call<{ RepoTags: string[] | null }[]>(
    'GET',
    `/images/json?filters=${encodeURIComponent(JSON.stringify({ label }))}`,
  );
  for (const tag of named.flatMap(({ RepoTags }) => RepoTags ?? [])) {
    if (tag.endsWith(`:${NONCE}`)) await engine.call('DELETE', `/images/${encodeURIComponent(tag)}?force=1`);
  }
  const left = encodeURIComponent(JSON.stringify({ label, dangling: ['true'] }));
  await engine.call('POST', `/images/prune?filters=${left}`);
}
