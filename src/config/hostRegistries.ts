/**
 * What pip and npm of this host are told by their own configuration: where packages come from, and whom they trust.
 * Only what the machine and its user set is read; a project's own file may be an agent's.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { unusableFile } from './refusals.ts';

export interface HostRegistries {
  readonly pypi: HostRegistry;
  readonly npm: HostRegistry;
}

export interface HostRegistry {
  /** As they were written; the first is the registry, those after it are further ones. None where nobody set any. */
  readonly addresses: readonly string[];
  /** Where the addresses were set. */
  readonly origin: string;
  /** Certificates to trust, as PEM, and whether they are trusted instead of or besides the tool's own. */
  readonly certificates?: { readonly pem: string; readonly trusted: 'instead' | 'besides' };
}

export interface HostSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** The program of Node.js: npm's global configuration is beside it. */
  readonly node: string;
}

/** Reads it all once. Throws `CONFIG_INVALID` for a file that is there and cannot be read. */
export async function readHostRegistries(
  { env, homeDir, node }: HostSurroundings = { env: process.env, homeDir: homedir(), node: process.execPath },
): Promise<HostRegistries> {
  const [pypi, npm] = await Promise.all([readPip(env, homeDir), readNpm(env, homeDir, node)]);
  return { pypi, npm };
}

type Environment = HostSurroundings['env'];

/** A value, and the file or the variable that it stands in. */
interface Found {
  readonly value: string;
  readonly origin: string;
}

async function readPip(env: Environment, homeDir: string): Promise<HostRegistry> {
  const values = await readAll(pipFiles(env, homeDir), readPipFile);
  const find = (key: string): Found | undefined =>
    variable(env, `PIP_${key.toUpperCase().replaceAll('-', '_')}`) ??
    values.get(`install.${key}`) ??
    values.get(`global.${key}`);
  const [first, more] = [find('index-url'), find('extra-index-url')];
  const others = more?.value.split(/\s+/).filter((address) => /^https?:/i.test(address)) ?? [];
  const trusted = await firstCertificates([
    find('cert'),
    ...['REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'SSL_CERT_FILE'].map((name) => variable(env, name)),
  ]);
  return {
    addresses: first === undefined ? [] : [first.value, ...others],
    origin: first?.origin ?? 'nowhere',
    ...(trusted === undefined ? {} : { certificates: { pem: trusted, trusted: 'instead' } }),
  };
}

/** From the weakest to the strongest, as `pip config debug` lists them. */
function pipFiles(env: Environment, homeDir: string): string[] {
  const named = env['PIP_CONFIG_FILE'];
  if (named === '/dev/null') return [];
  const shared = (env['XDG_CONFIG_DIRS'] || '/etc/xdg').split(delimiter).map((folder) => join(folder, 'pip'));
  const config = env['XDG_CONFIG_HOME'] || join(homeDir, '.config');
  const mac = process.platform === 'darwin';
  return [
    ...(mac ? ['/Library/Application Support/pip/pip.conf'] : []),
    ...shared.reverse().map((folder) => join(folder, 'pip.conf')),
    '/etc/pip.conf',
    join(homeDir, '.pip', 'pip.conf'),
    ...(mac ? [join(homeDir, 'Library', 'Application Support', 'pip', 'pip.conf')] : []),
    join(config, 'pip', 'pip.conf'),
    ...(env['VIRTUAL_ENV'] ? [join(env['VIRTUAL_ENV'], 'pip.conf')] : []),
    ...(named ? [named] : []),
  ].filter(isAbsolute);
}

async function readNpm(env: Environment, homeDir: string, node: string): Promise<HostRegistry> {
  const prefix = env['PREFIX'] || dirname(dirname(node));
  const files = [
    npmVariable(env, 'globalconfig')?.value ?? join(prefix, 'etc', 'npmrc'),
    npmVariable(env, 'userconfig')?.value ?? join(homeDir, '.npmrc'),
  ];
  const values = await readAll(files.filter(isAbsolute), (text) => readNpmFile(text, env));
  const find = (key: string): Found | undefined => npmVariable(env, key) ?? values.get(key);
  const registry = find('registry');
  const instead = await firstCertificates([find('cafile')]);
  const besides = await firstCertificates(
    ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'].map((name) => variable(env, name)),
  );
  const pem = instead ?? besides;
  return {
    addresses: registry === undefined ? [] : [registry.value],
    origin: registry?.origin ?? 'nowhere',
    ...(pem === undefined ? {} : { certificates: { pem, trusted: instead ? 'instead' : 'besides' } }),
  };
}

/** All that the files say, where later ones win. */
async function readAll(
  paths: readonly string[],
  read: (text: string) => Iterable<readonly [string, string]>,
): Promise<ReadonlyMap<string, Found>> {
  const texts = await Promise.all(paths.map(readOrNothing));
  const all = new Map<string, Found>();
  for (const [index, text] of texts.entries()) {
    for (const [key, value] of read(text)) all.set(key, { value, origin: paths[index] ?? '' });
  }
  return all;
}

/** Python's kind of an ini file: sections, `key = value` or `key: value`, and values that go on in indented lines. Pure. */
export function* readPipFile(text: string): Iterable<readonly [string, string]> {
  let section = '';
  let held: [string, string] | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*[#;]/.test(line)) continue;
    if (held !== undefined && /^\s+\S/.test(line)) {
      held[1] = `${held[1]}\n${line.trim()}`.trim();
      continue;
    }
    if (held !== undefined) yield held;
    held = undefined;
    const header = /^\[([^\]]*)\]/.exec(line);
    if (header) section = (header[1] ?? '').trim();
    const pair = /^([^\s=:[][^=:]*?)\s*[=:]\s*(.*)$/.exec(line);
    if (pair)
      held = [`${section}.${(pair[1] ?? '').toLowerCase().replaceAll('_', '-')}`, (pair[2] ?? '').trim()];
  }
  if (held !== undefined) yield held;
}

/** npm's kind of one: `key = value`, perhaps in quotes, with `${NAME}` for variables. Pure. */
export function* readNpmFile(text: string, env: Environment): Iterable<readonly [string, string]> {
  for (const line of text.split(/\r?\n/)) {
    const [, key, written = ''] = /^\s*([^#;=\s[][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined) continue;
    const bare = /^(["'])(.*)\1$/.exec(written)?.[2] ?? written;
    yield [key, bare.replace(/\$\{([^}]+)\}/g, (whole, name: string) => env[name] ?? whole)];
  }
}

function variable(env: Environment, name: string): Found | undefined {
  const value = env[name];
  return value === undefined || value === '' ? undefined : { value, origin: name };
}

/** npm takes its variables in either case. */
function npmVariable(env: Environment, key: string): Found | undefined {
  const name = Object.keys(env).find((known) => known.toLowerCase() === `npm_config_${key}`);
  return name === undefined ? undefined : variable(env, name);
}

/** The certificates of the first of these that names a file; nothing else of the file, which may hold keys. */
async function firstCertificates(files: readonly (Found | undefined)[]): Promise<string | undefined> {
  const named = files.find((found) => found !== undefined && isAbsolute(found.value));
  if (named === undefined) return undefined;
  const text = await readOrNothing(named.value);
  const blocks = text.match(
    /^-----BEGIN (?:TRUSTED )?CERTIFICATE-----$[^-]+^-----END (?:TRUSTED )?CERTIFICATE-----$/gm,
  );
  return blocks === null ? undefined : `${blocks.join('\n')}\n`;
}

/** Far above any bundle of certificates. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * Empty where there is no such file. One that is there and cannot be read stops everything: it may say that packages
 * come from somewhere else than where everybody gets them.
 */
async function readOrNothing(path: string): Promise<string> {
  try {
    // Without O_NONBLOCK, opening a pipe of that name would wait for ever.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = await file.stat();
      if (!status.isFile() || status.size > MOST_BYTES) return '';
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return '';
    throw unusableFile(
      path,
      `The file cannot be read (${code}), and it may say where packages come from.`,
      'Make it readable, or set network.allowed_registries.',
      { origin: 'the configuration of this host' },
      error,
    );
  }
}
