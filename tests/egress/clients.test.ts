import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { proxyEnvironment } from '../../src/egress/environment.ts';
import { startWorld, type World } from './world.ts';

let world: World;
let folder: string;
beforeAll(async () => {
  world = await startWorld();
  folder = mkdtempSync(join(tmpdir(), 'egress-clients-'));
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | string;
}

/** Runs a program of this machine with nothing but the proxy's variables, and what finds it and its certificates. */
function run(file: string, args: readonly string[], more: Record<string, string> = {}): Promise<Ran> {
  const { authorityFile } = world.certificates;
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    ...proxyEnvironment({ port: world.port, nodeVersion: process.version }),
    NODE_EXTRA_CA_CERTS: authorityFile,
    SSL_CERT_FILE: authorityFile,
    CURL_CA_BUNDLE: authorityFile,
    GIT_SSL_CAINFO: authorityFile,
    ...more,
  };
  return new Promise((resolve) => {
    execFile(file, args, { env, cwd: folder, timeout: 20_000 }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error?.code ?? 0 });
    });
  });
}

const node = (code: string, ...args: string[]): Promise<Ran> =>
  run(process.execPath, [...args, '--input-type=module', '-e', code]);
const python = (code: string): Promise<Ran> => run('/usr/bin/python3', ['-c', code]);

const NOT_ALLOWED = '"evil.test" is not among the allowed domains (a.test, ';

describe('curl', () => {
  it.each(['http', 'https'])('reaches an allowed domain by %s', async (scheme) => {
    const { stdout, code } = await run('curl', ['-sS', `${scheme}://a.test/1`, '-d', 'four']);
    expect({ stdout, code }).toEqual({ stdout: 'POST a.test /1 4\n', code: 0 });
  });

  it('reaches it by HTTP in a tunnel', async () => {
    const { stdout } = await run('curl', ['-sS', '--proxytunnel', 'http://a.test/1', 'http://a.test/2']);
    expect(stdout).toBe('GET a.test /1 0\nGET a.test /2 0\n');
  });

  it('is told why it does not reach another', async () => {
    expect((await run('curl', ['-sS', 'http://evil.test/'])).stdout).toContain(NOT_ALLOWED);
    const { stderr, code } = await run('curl', ['-sSv', 'https://evil.test/']);
    expect(stderr).toContain('< HTTP/1.1 403 Domain not allowed by Glovebox');
    expect(stderr).toContain('response 403');
    expect(code).toBe(56);
  });

  it('is told in the words of TLS that its server name is another one', async () => {
    const { stderr } = await run('curl', [
      '-sS',
      '--connect-to',
      'evil.test:443:a.test:443',
      'https://evil.test/',
    ]);
    expect(stderr).toContain('alert access denied');
  });
});

describe('Python', () => {
  const open = (url: string): string => `
import urllib.request
try:
    print(urllib.request.urlopen('${url}', timeout=10).read().decode(), end='')
except Exception as error:
    print(error, getattr(error, 'read', bytes)().decode())`;

  it.each(['http', 'https'])('reaches an allowed domain by %s', async (scheme) => {
    expect((await python(open(`${scheme}://x.b.test/1`))).stdout).toBe('GET x.b.test /1 0\n');
  });

  it('is told why it does not reach another', async () => {
    expect((await python(open('http://evil.test/'))).stdout).toContain(NOT_ALLOWED);
    expect((await python(open('https://evil.test/'))).stdout).toContain('403 Domain not allowed by Glovebox');
  });
});

it('git reaches an allowed domain, and is told that another is not one', async () => {
  const before = world.allowed.requests.length;
  await run('git', ['ls-remote', 'https://a.test/repository']);
  await run('git', ['ls-remote', 'http://a.test/repository']);
  expect(world.allowed.requests.slice(before)).toEqual([
    ...['GET a.test /repository/info/refs?service=git-upload-pack'],
    ...['GET a.test /repository/info/refs?service=git-upload-pack'],
  ]);
  expect((await run('git', ['ls-remote', 'https://evil.test/repository'])).stderr).toContain('response 403');
});

it.each(['http', 'https'])('npm reaches a registry at an allowed domain by %s', async (scheme) => {
  const before = world.allowed.requests.length;
  writeFileSync(
    join(folder, '.npmrc'),
    `registry=${scheme}://a.test/\ncafile=${world.certificates.authorityFile}\n`,
  );
  await run('npm', ['view', 'a-package', '--fetch-retries=0', '--no-update-notifier']);
  expect(world.allowed.requests.slice(before)).toContain('GET a.test /a-package');
});

it('npm is told that another registry is not allowed', async () => {
  writeFileSync(join(folder, '.npmrc'), 'registry=https://evil.test/\n');
  const { stderr, code } = await run('npm', [
    'view',
    'a-package',
    '--fetch-retries=0',
    '--no-update-notifier',
  ]);
  expect(stderr).toContain('403');
  expect(code).not.toBe(0);
});

const hasPip = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0;
describe.skipIf(!hasPip)(`pip${hasPip ? '' : ' (skipped: /usr/bin/python3 has none)'}`, () => {
  const install = (index: string): Promise<Ran> =>
    run('/usr/bin/python3', [
      ...['-m', 'pip', 'download', '--retries=1', '--no-cache-dir', '--disable-pip-version-check'],
      ...[`--index-url=${index}`, '--cert', world.certificates.authorityFile, 'a-package'],
    ]);

  it('reaches an index at an allowed domain', async () => {
    const before = world.allowed.requests.length;
    await install('https://a.test/simple');
    expect(world.allowed.requests.slice(before)).toContain('GET a.test /simple/a-package/');
  });

  it('is told that another index is not allowed', async () => {
    expect((await install('https://evil.test/simple')).stderr).toContain(
      '403 Domain not allowed by Glovebox',
    );
  });
});

/** A Node that knows proxies by itself knows none for agents of one's own, and its `fetch` shows no reason. */
const byItself = process.allowedNodeEnvironmentFlags.has('--use-env-proxy');
const SKIPPED = byItself ? ' (skipped: this Node.js reads the proxy variables by itself)' : '';

describe('Node', () => {
  const get = (url: string): string => `console.log((await (await fetch('${url}')).text()).trim());`;

  it('reaches an allowed domain by fetch', async () => {
    const { stdout, stderr, code } = await node(`
      ${get('https://a.test/1')}
      ${get('https://a.test/2')}
      ${get('http://a.test/3')}
      const posted = await fetch('http://a.test/4', { method: 'POST', body: 'four' });
      console.log((await posted.text()).trim());`);
    expect({ stdout, stderr, code }).toEqual({
      stdout: 'GET a.test /1 0\nGET a.test /2 0\nGET a.test /3 0\nPOST a.test /4 4\n',
      stderr: '',
      code: 0,
    });
  });

  it.skipIf(byItself)(`reaches it by http and https, also with agents of its own${SKIPPED}`, async () => {
    const { stdout, stderr } = await node(`
      import http from 'node:http';
      import https from 'node:https';
      const get = (library, options) => new Promise((resolve, reject) => {
        library.get(options, (response) => {
          let text = '';
          response.on('data', (chunk) => { text += chunk; }).on('end', () => resolve(text));
        }).on('error', reject);
      });
      const agent = new https.Agent({ keepAlive: true });
      process.stdout.write(await get(http, 'http://a.test/1'));
      process.stdout.write(await get(https, 'https://a.test/2'));
      process.stdout.write(await get(https, { host: 'a.test', path: '/3', agent }));
      process.stdout.write(await get(https, { host: 'a.test', path: '/4', agent }));
      process.stdout.write(await get(http, { host: 'a.test', path: '/5', agent: false }));
      agent.destroy();`);
    expect({ stdout, stderr }).toEqual({
      stdout: [1, 2, 3, 4, 5].map((number) => `GET a.test /${number} 0\n`).join(''),
      stderr: '',
    });
  });

  it.skipIf(byItself)(`is told why it does not reach another${SKIPPED}`, async () => {
    const { stdout } = await node(`
      import https from 'node:https';
      import http from 'node:http';
      for (const url of ['https://evil.test', 'http://evil.test']) {
        await fetch(url).catch((error) => console.log(error.cause.message));
        const library = url.startsWith('https') ? https : http;
        await new Promise((resolve) => library.get(url).on('error', (error) => {
          console.log(error.message);
          resolve();
        }));
      }`);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toContain(NOT_ALLOWED);
  });

  it.skipIf(byItself)(`says it in a few lines when nobody catches it${SKIPPED}`, async () => {
    const { stderr } = await node(`await fetch('https://evil.test')`);
    expect(stderr).toContain(NOT_ALLOWED);
    expect(stderr.length).toBeLessThan(1500);
  });

  it('checks certificates as ever', async () => {
    const { stdout } = await run(
      process.execPath,
      ['-e', `fetch('https://a.test').catch((error) => console.log(error.cause.code))`],
      { NODE_EXTRA_CA_CERTS: '' },
    );
    expect(stdout).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE\n');
  });

  it('reaches what is inside without the proxy', async () => {
    const finished = world.finished.length;
    const { stdout, stderr } = await node(`
      import http from 'node:http';
      const server = http.createServer((request, response) => response.end('inside '));
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address();
      for (const host of ['127.0.0.1', 'localhost']) {
        process.stdout.write(await (await fetch('http://' + host + ':' + port)).text());
        await new Promise((resolve) => http.get({ host, port }, (response) => {
          response.pipe(process.stdout, { end: false });
          response.on('end', resolve);
        }));
      }
      server.close();
      server.closeAllConnections();`);
    expect({ stdout, stderr }).toEqual({ stdout: 'inside inside inside inside ', stderr: '' });
    expect(world.finished).toHaveLength(finished);
  });

  it('leaves a dispatcher alone that the program chose', async () => {
    const { stdout } = await node(`
      class Mine { dispatch(options, handler) { console.log('mine', options.path); handler.onError(new Error('no')); } }
      globalThis[Symbol.for('undici.globalDispatcher.1')] = new Mine();
      await fetch('https://a.test/1').catch(() => {});`);
    expect(stdout).toBe('mine /1\n');
  });

  it('looks as it does without, to the programs that it runs', async () => {
    const look = `
      const describe = (name) => {
        const { get, set, value, ...flags } = Object.getOwnPropertyDescriptor(globalThis, name);
        return { name: value?.name, length: value?.length, ...flags };
      };
      console.log(process.execArgv, process.argv.length, describe('fetch'), Object.keys(globalThis));
      console.log(Object.keys(http.globalAgent).sort(), Object.keys(require.cache), require.main === module);`;
    const file = join(folder, 'look.cjs');
    writeFileSync(file, `const http = require('http');\n${look}`);
    const withIt = await run(process.execPath, [file]);
    const without = await run(process.execPath, [file], { NODE_OPTIONS: '' });
    expect(withIt.stdout).toBe(without.stdout);
    expect(withIt.stderr).toBe('');
  });

  it('passes it on to workers and to programs that it starts', async () => {
    const { stdout } = await node(`
      import { Worker } from 'node:worker_threads';
      import { execFileSync } from 'node:child_process';
      const code = "fetch('http://a.test/1').then((r) => r.text()).then((text) => process.stdout.write(text))";
      await new Promise((resolve) => new Worker(code, { eval: true }).on('exit', resolve));
      process.stdout.write(execFileSync(process.execPath, ['-e', code]));`);
    expect(stdout).toBe('GET a.test /1 0\nGET a.test /1 0\n');
  });
});
