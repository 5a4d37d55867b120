/** What programs reach from inside real sandboxes: the allowed domains by the clients that people use, and nobody else. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type CreateSandboxOptions,
  createSandbox,
  type LiveSandbox,
  type NetworkDecision,
} from '../../src/index.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { EACH_KIND, scratch } from '../live/support.ts';
import { describeMissing } from '../support/targets.ts';
import { ALLOWED, BYPASS_RULES, bypasses, FORBIDDEN_NAMES } from './bypasses.ts';
import { startWorld, type World } from './world.ts';

/** Sends each list of texts over a connection of its own to the proxy, the next when something was answered. */
const SEND_ALL = `
import base64, json, socket
from concurrent.futures import ThreadPoolExecutor
def send(parts):
    answered = b''
    with socket.create_connection(('127.0.0.1', 3128), 20) as connection:
        connection.settimeout(1)
        try:
            for part in parts:
                connection.sendall(base64.b64decode(part))
                answered += connection.recv(65536)
            while True:
                more = connection.recv(65536)
                if not more: break
                answered += more
        except OSError: pass
    return base64.b64encode(answered).decode()
with ThreadPoolExecutor(16) as pool: answers = list(pool.map(send, json.load(open('bypasses.json'))))
json.dump(answers, open('answers.json', 'w'))`;

/** Ways past the proxy: the host's own address, a name server, a datagram, another port of the loopback. */
const GO_PAST = `
import socket, sys
def tcp(host, port):
    try: return socket.create_connection((host, port), 2).close() or 'reached'
    except OSError as problem: return type(problem).__name__
def ask():
    try: return socket.getaddrinfo('a.test', 80) and 'resolved'
    except OSError as problem: return type(problem).__name__
def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try: return probe.sendto(b'x', ('192.0.2.1', 53)) and 'sent'
        except OSError as problem: return type(problem).__name__
print(tcp('127.0.0.1', int(sys.argv[1])), ask(), datagram())`;

const PYTHON = `
import ssl, sys, urllib.error, urllib.request
trust = ssl.create_default_context(cafile='ca.crt')
def fetch(url):
    try: return urllib.request.urlopen(url, timeout=20, context=trust if url.startswith('https') else None).read().decode().strip()
    except urllib.error.HTTPError as refusal: return refusal.read().decode().strip()
    except OSError as problem: return str(problem)
for url in sys.argv[1:]: print(fetch(url))`;

const JAVASCRIPT = `
for (const url of process.argv.slice(2)) {
  try { console.log((await (await fetch(url)).text()).trim()); }
  catch (error) { console.log(String(error.cause ?? error)); }
}`;

const CURL = 'for url in "$@"; do curl -sS --cacert ca.crt "$url"; done';

const URLS = [`http://${ALLOWED}/plain`, `https://${ALLOWED}/secure`] as const;
const ANSWERS = [`GET ${ALLOWED} /plain 0`, `GET ${ALLOWED} /secure 0`];
const NOT_ALLOWED = '"evil.test" is not among the allowed domains';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

/** A sandbox that may reach the world's allowed names, and in which its other names are mapped and not allowed. */
async function open(runtime: Runtime, options: CreateSandboxOptions = {}): Promise<LiveSandbox> {
  const allowed = `127.0.0.1:${world.allowed.port}`;
  const forbidden = `127.0.0.1:${world.forbidden.port}`;
  const host_map = {
    ...Object.fromEntries(FORBIDDEN_NAMES.map((name) => [name, forbidden])),
    ...Object.fromEntries([ALLOWED, 'x.b.test', 'c.test'].map((name) => [name, allowed])),
  };
  const configFile = join(scratch, 'config.yaml');
  const settings = { network: { host_map }, store_code: 'never' };
  writeFileSync(configFile, JSON.stringify({ security: { sandbox: settings } }));
  const allowedDomains = [...BYPASS_RULES];
  const sandbox = await createSandbox({ runtime, configFile, cpu: 2, allowedDomains, ...options });
  onTestFinished(() => sandbox.close());
  await sandbox.writeFile('ca.crt', readFileSync(world.certificates.authorityFile));
  return sandbox;
}

describeMissing('from inside');

describe.each(EACH_KIND.filter(({ capabilities }) => capabilities.network.includes('allowlist')))(
  'from inside: $name',
  ({ runtime, capabilities }) => {
    it('no bypass reaches anybody, and none is answered by a server', async () => {
      const sandbox = await open(runtime);
      const heardBefore = world.forbidden.connections.length;
      const all = bypasses(world.forbidden.port);
      const parts = all.map(({ send }) => send.map((part) => Buffer.from(part, 'latin1').toString('base64')));
      await sandbox.writeFile('bypasses.json', JSON.stringify(parts));
      const ran = await sandbox.execute(SEND_ALL, { timeout: 240 });
      expect(ran).toMatchObject({ stderr: '', ok: true });
      expect(world.forbidden.connections.slice(heardBefore)).toEqual([]);
      const answers: string[] = JSON.parse((await sandbox.readFile('answers.json')).content);
      expect(answers).toHaveLength(all.length);
      const passed = all.filter(({ heard = 0, opens }, index) => {
        const answered = Buffer.from(answers[index] ?? '', 'base64').toString('latin1');
        const statuses = [...answered.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
        return statuses.filter((status) => status < 400).length > (opens ? 1 : 0) + heard;
      });
      expect(passed).toEqual([]);
      const { decisions = [], dropped } = ran.meta.network ?? {};
      expect(dropped).toBe(0);
      expect(decisions.filter(({ allowed }) => !allowed).length).toBeGreaterThan(60);
    }, 300_000);

    it('each decision is told when it is over', async () => {
      const told: NetworkDecision[] = [];
      const sandbox = await open(runtime, { onNetwork: (decision) => told.push(decision) });
      const ran = await sandbox.execute(PYTHON, { args: [URLS[0], 'http://evil.test/'], timeout: 60 });
      expect(told).toEqual(ran.meta.network?.decisions);
      expect(told.map(({ host, allowed }) => [host, allowed])).toEqual([
        [ALLOWED, true],
        ['evil.test', false],
      ]);
    }, 60_000);

    it('nothing is reached past the proxy', async () => {
      const sandbox = await open(runtime);
      const ran = await sandbox.execute(GO_PAST, { args: [String(world.forbidden.port)] });
      expect(ran.stdout).not.toMatch(/reached|resolved|sent/);
      expect(ran.stdout.trim().split(' ')).toHaveLength(3);
    });

    it.each([
      ['urllib', 'python', PYTHON],
      ['fetch', 'javascript', JAVASCRIPT],
      ['curl', 'shell', CURL],
    ])(
      '%s reaches an allowed domain by HTTP and HTTPS, and is told why another is not',
      async (name, language, code) => {
        const sandbox = await open(runtime);
        const there = await sandbox.execute(`command -v ${name}`, { language: 'shell' });
        // An image has what it has; Python and Node.js are in all of them.
        if (name === 'curl' && !there.ok) return expect(capabilities.isolation).not.toBe('namespace');
        const env = { NODE_EXTRA_CA_CERTS: '/workspace/ca.crt' };
        const ran = await sandbox.execute(code, { language, args: URLS, env, timeout: 60 });
        expect(ran.stdout.trim().split('\n')).toEqual(ANSWERS);
        const refused = await sandbox.execute(code, {
          language,
          args: ['http://evil.test/'],
          env,
          timeout: 60,
        });
        expect(refused.stdout).toContain(NOT_ALLOWED);
        expect(ran.meta.network?.decisions.map(({ host, allowed }) => [host, allowed])).toEqual(
          URLS.map(() => [ALLOWED, true]),
        );
        expect(ran.meta.network?.bytesDown).toBeGreaterThan(0);
        expect(refused.meta.network?.decisions).toMatchObject([
          { host: 'evil.test', allowed: false, code: 'not_listed' },
        ]);
      },
      120_000,
    );
  },
);
