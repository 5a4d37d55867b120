import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readHostRegistries, readNpmFile, readPipFile } from './hostRegistries.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\nabc=\n-----END CERTIFICATE-----';
const KEY = '-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----';

/** A home, a system and a Node.js of one's own, with these files. */
function host(files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'host-registries-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text.replaceAll('ROOT', root));
  }
  const placed = Object.entries(env).map(([name, value]) => [name, value.replaceAll('ROOT', root)]);
  return {
    root,
    surroundings: {
      env: { XDG_CONFIG_DIRS: join(root, 'xdg'), ...Object.fromEntries(placed) },
      homeDir: join(root, 'home'),
      node: join(root, 'usr/bin/node'),
    },
  };
}

describe('what pip of this host is told', () => {
  it('is nothing where nobody says anything', async () => {
    const { pypi, npm } = await readHostRegistries(host({}).surroundings);
    expect(pypi.addresses.filter((address) => address.includes('example'))).toEqual([]);
    expect(npm).toEqual({ addresses: [], origin: 'nowhere' });
  });

  it('is taken from its files, of which the later win, and from variables, which win over all', async () => {
    const files = {
      'xdg/pip/pip.conf': '[global]\nindex-url = https://shared.example/simple\n',
      'home/.config/pip/pip.conf': '[global]\nindex-url = https://user.example/simple\n',
      'venv/pip.conf': '[install]\nindex_url: https://venv.example/simple\n',
    };
    const address = async (env: Record<string, string>) =>
      (await readHostRegistries(host(files, env).surroundings)).pypi.addresses;
    expect(await address({})).toEqual(['https://user.example/simple']);
    expect(await address({ VIRTUAL_ENV: 'ROOT/venv' })).toEqual(['https://venv.example/simple']);
    expect(await address({ VIRTUAL_ENV: 'ROOT/venv', PIP_INDEX_URL: 'https://variable.example' })).toEqual([
      'https://variable.example',
    ]);
    expect(await address({ PIP_CONFIG_FILE: '/dev/null' })).toEqual([]);
  });

  it('has further indexes, but none of files', async () => {
    const { surroundings } = host({
      'home/.pip/pip.conf':
        '[global]\nindex-url = https://one.example/simple\nextra-index-url =\n    file:///opt/simple\n    https://two.example/simple\n\n[install]\nfind-links = /opt\n',
    });
    expect((await readHostRegistries(surroundings)).pypi).toMatchObject({
      addresses: ['https://one.example/simple', 'https://two.example/simple'],
      origin: join(surroundings.homeDir, '.pip', 'pip.conf'),
    });
  });

  it('says whom to trust, and hands over certificates only', async () => {
    const { surroundings } = host(
      { 'ca.pem': `# Zertifizierung\n${KEY}\n${PEM}\r\n${PEM}\n` },
      { PIP_CERT: 'ROOT/ca.pem' },
    );
    const { certificates } = (await readHostRegistries(surroundings)).pypi;
    expect(certificates).toEqual({ pem: `${PEM}\n${PEM}\n`, trusted: 'instead' });
  });

  it('stops everything where it is there and cannot be read', async () => {
    const { surroundings, root } = host({ 'home/.pip/pip.conf/is-a-folder': '' });
    expect((await readHostRegistries(surroundings)).npm.addresses).toEqual([]);
    chmodSync(join(root, 'home'), 0o000);
    if (process.getuid?.() !== 0)
      await expect(readHostRegistries(surroundings)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    chmodSync(join(root, 'home'), 0o755);
  });
});

describe('what npm of this host is told', () => {
  it('is taken from the file beside Node.js, then from the one of the user, then from variables', async () => {
    const files = {
      'usr/etc/npmrc': 'registry = https://global.example/\ncafile="ROOT/ca.pem"\n',
      'home/.npmrc': `; mine\nregistry=https://\${WHERE}.example/npm/\n//user.example/npm/:_authToken=secret\n`,
      'ca.pem': PEM,
    };
    const read = async (some: Partial<typeof files>, env: Record<string, string> = {}) =>
      (await readHostRegistries(host(some as typeof files, env).surroundings)).npm;
    expect(await read({ 'usr/etc/npmrc': files['usr/etc/npmrc'], 'ca.pem': PEM })).toMatchObject({
      addresses: ['https://global.example/'],
      certificates: { pem: `${PEM}\n`, trusted: 'instead' },
    });
    expect((await read(files, { WHERE: 'user' })).addresses).toEqual(['https://user.example/npm/']);
    expect((await read(files, { NPM_CONFIG_REGISTRY: 'https://variable.example/' })).addresses).toEqual([
      'https://variable.example/',
    ]);
    expect(JSON.stringify(await read(files))).not.toContain('secret');
  });

  it('trusts the certificates of Node.js besides', async () => {
    const { surroundings } = host({ 'ca.pem': PEM }, { NODE_EXTRA_CA_CERTS: 'ROOT/ca.pem' });
    expect((await readHostRegistries(surroundings)).npm.certificates).toEqual({
      pem: `${PEM}\n`,
      trusted: 'besides',
    });
  });
});

describe('a file of pip', () => {
  const TEXT = `
# a comment = no value
; [nor] = a section
[global]
index-url=https://a.example/simple
extra-index-url =
    https://b.example/simple
    # in between
    https://c.example/simple
Timeout : 60

[install]
trusted_host = a.example
no value here
`;

  it('is read as pip reads it', () => {
    expect([...readPipFile(TEXT)]).toEqual([
      ['global.index-url', 'https://a.example/simple'],
      ['global.extra-index-url', 'https://b.example/simple\nhttps://c.example/simple'],
      ['global.timeout', '60'],
      ['install.trusted-host', 'a.example'],
    ]);
  });

  it('is read as Python itself reads it', () => {
    const text = TEXT.replace('no value here\n', '').replace('trusted_host', 'trusted-host');
    const script =
      'import configparser, json, sys; c = configparser.RawConfigParser(); c.read_string(sys.stdin.read()); print(json.dumps([[s + "." + k, v] for s in c.sections() for k, v in c.items(s)]))';
    const read = JSON.parse(
      execFileSync('python3', ['-I', '-c', script], { input: text, encoding: 'utf8' }),
    ) as [string, string][];
    expect([...readPipFile(text)]).toEqual(read.map(([key, value]) => [key, value.trim()]));
  });
});

it('a file of npm is read line by line', () => {
  const text = `a=1\n b = two words \n;c=3\n#d=4\ne="5"\nf\n[g]\nh=\${X}-\${Y}\n@scope:registry=https://a.example\n`;
  expect([...readNpmFile(text, { X: 'x' })]).toEqual([
    ['a', '1'],
    ['b', 'two words'],
    ['e', '5'],
    ['h', `x-\${Y}`],
    ['@scope:registry', 'https://a.example'],
  ]);
});
