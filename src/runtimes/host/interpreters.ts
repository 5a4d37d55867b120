/**
 * Finds the host's interpreters as people install them: from the system, a version manager, a virtual
 * environment. A version manager's shim is a script that picks the real program; it is asked once.
 */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readlink, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import type { LanguageName } from '../../languages/language.ts';
import { readCached, writeCached } from './cache.ts';
import { findExecutable } from './executables.ts';

/** An interpreter of the host, and what must be visible for it to run. */
export interface HostInterpreter {
  /** The real program, behind any shim. */
  readonly path: string;
  readonly version: string;
  /** Folders outside the system's that it needs, none of which contains another. */
  readonly prefixes: readonly string[];
}

/** Interpreters that the operator names, by language; the others are looked for. */
export type InterpreterSettings = Readonly<Partial<Record<LanguageName, string>>>;

/** How long an interpreter may take to say what it is. */
const DESCRIBE_TIMEOUT_MS = 20_000;

/** Folders that every namespaced program sees anyway. */
const SYSTEM_FOLDERS = ['/usr/bin', '/usr/lib', '/usr/lib64', '/usr/share', '/bin', '/lib', '/lib64'];

/** Folders that hold more than one interpreter's files, so that showing them would show other people's. */
const NEVER_SHOWN = ['/', '/home', '/root', '/etc', '/var', '/tmp', '/opt', '/mnt', '/srv', '/run', '/usr'];

/** Finds each language's interpreter once and remembers it. */
export class InterpreterFinder {
  readonly #settings: InterpreterSettings;
  readonly #found = new Map<LanguageName, Promise<HostInterpreter>>();

  constructor(settings: InterpreterSettings = {}) {
    this.#settings = settings;
  }

  /** Throws `LANGUAGE_UNAVAILABLE` with what to install; a failure is not remembered. */
  find(language: LanguageName): Promise<HostInterpreter> {
    const known = this.#found.get(language);
    if (known) return known;
    const search = findInterpreter(language, this.#settings);
    this.#found.set(language, search);
    search.catch(() => this.#found.delete(language));
    return search;
  }

  /** Finds all of these; why one is not there is told when it is used, as a sandbox for several need not have all. */
  async findAll(languages: readonly LanguageName[]): Promise<FoundInterpreters> {
    const found = await Promise.all(
      languages.map(async (language): Promise<[LanguageName, HostInterpreter | SandboxError]> => {
        try {
          return [language, await this.find(language)];
        } catch (error) {
          if (error instanceof SandboxError) return [language, error];
          throw error;
        }
      }),
    );
    return new Map(found);
  }
}

/** The interpreters of a sandbox, or why one is not there. */
export type FoundInterpreters = ReadonlyMap<LanguageName, HostInterpreter | SandboxError>;

/** All folders outside the system's that these need. */
export function prefixesOf(interpreters: FoundInterpreters): string[] {
  const prefixes = [...interpreters.values()].flatMap((found) =>
    found instanceof SandboxError ? [] : found.prefixes,
  );
  return [...new Set(prefixes)];
}

/** The folders that a program looks for commands in. */
export function searchPath(interpreters: FoundInterpreters): string {
  const folders = [...interpreters.values()].flatMap((found) =>
    found instanceof SandboxError ? [] : [dirname(found.path)],
  );
  return [...new Set([...folders, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
}

/** Finds the interpreter for a language. Throws `LANGUAGE_UNAVAILABLE` with what to install. */
export async function findInterpreter(
  language: LanguageName,
  settings: InterpreterSettings = {},
  environment: NodeJS.ProcessEnv = process.env,
): Promise<HostInterpreter> {
  const { host } = findLanguage(language);
  const named = settings[language];
  const found =
    named === undefined ? search(language, environment) : findExecutable(named, environment['PATH']);
  if (found === undefined) {
    throw new SandboxError(
      'LANGUAGE_UNAVAILABLE',
      named === undefined
        ? `There is no ${host.candidates.join(' or ')} on this host to run ${language}.`
        : `The interpreter ${JSON.stringify(named)} set for ${language} is not a program that can be started.`,
      { hint: host.install, details: { language, ...(named === undefined ? {} : { path: named }) } },
    );
  }
  const [executable = '', version = '', ...folders] = await describeCached(language, found, environment);
  const path = await startPath(executable, folders);
  return { path, version, prefixes: await neededFolders(language, path, folders) };
}

function search(language: LanguageName, environment: NodeJS.ProcessEnv): string | undefined {
  const { candidates } = findLanguage(language).host;
  // The very Node that runs us is there without looking, and is the one that its user chose.
  if (language === 'javascript' && process.release.name === 'node') return process.execPath;
  const active = language === 'python' ? environment['VIRTUAL_ENV'] : undefined;
  const searchPath = [...(active ? [join(active, 'bin')] : []), environment['PATH'] ?? ''].join(':');
  for (const name of candidates) {
    const found = findExecutable(name, searchPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A virtual environment is found through the path that it is started by; anything else starts as itself. */
async function startPath(executable: string, [prefix, basePrefix]: readonly string[]): Promise<string> {
  return prefix !== basePrefix ? executable : realpath(executable);
}

async function neededFolders(
  language: LanguageName,
  executable: string,
  folders: readonly string[],
): Promise<string[]> {
  const candidates = new Set<string>();
  for (const hop of await linkHops(executable)) candidates.add(dirname(dirname(hop)));
  for (const folder of folders) {
    if (folder === '') continue;
    candidates.add(folder);
    candidates.add(await realpath(folder).catch(() => folder));
  }
  const needed = [...candidates].flatMap((folder) => visibleParts(folder));
  for (const folder of needed) {
    if (NEVER_SHOWN.includes(folder) || homedir() === folder || homedir().startsWith(`${folder}/`)) {
      throw new SandboxError(
        'LANGUAGE_UNAVAILABLE',
        `The interpreter ${executable} for ${language} needs ${folder}, which cannot be shown without showing everything else in it.`,
        {
          hint: `Install ${language} in a folder of its own, or name another interpreter with ${findLanguage(language).host.variable}.`,
          details: { language, executable, folder },
        },
      );
    }
  }
  return needed.filter((folder) => !needed.some((other) => other !== folder && isBelow(folder, other)));
}

/** The parts of an interpreter's folder that are its own and not visible anyway. Pure. */
export function visibleParts(prefix: string): string[] {
  if (
    prefix === '/usr' ||
    prefix === '/' ||
    SYSTEM_FOLDERS.some((system) => prefix === system || isBelow(prefix, system))
  ) {
    return [];
  }
  // Shared by everything that an operator installs by hand, configuration included: only its programs.
  if (prefix === '/usr/local') return ['bin', 'lib', 'lib64', 'share'].map((part) => `/usr/local/${part}`);
  // There every library is in a folder of its own beside the interpreter's.
  if (prefix.startsWith('/nix/store/')) return ['/nix/store'];
  return [prefix];
}

/** True when `path` is inside `folder`. Pure. */
export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

/** The path itself and everything that it links to on the way to the real file. */
async function linkHops(path: string): Promise<string[]> {
  const hops = [path];
  for (let current = path; hops.length < 40; ) {
    const target = await readlink(current).catch(() => undefined);
    if (target === undefined) break;
    current = resolve(dirname(current), target);
    hops.push(current);
  }
  hops.push(await realpath(path));
  return hops;
}

async function describe(
  language: LanguageName,
  program: string,
  environment: NodeJS.ProcessEnv,
): Promise<string[]> {
  if (program === process.execPath) return [process.execPath, process.version.slice(1)];
  try {
    // With the caller's environment: a shim needs it to choose.
    const { stdout } = await promisify(execFile)(program, [...findLanguage(language).host.describe], {
      env: environment,
      timeout: DESCRIBE_TIMEOUT_MS,
    });
    return stdout.replace(/\n$/, '').split('\0');
  } catch (error) {
    throw new SandboxError('LANGUAGE_UNAVAILABLE', `${program}, found for ${language}, does not run.`, {
      hint: findLanguage(language).host.install,
      details: {
        language,
        path: program,
        stderr: String((error as { stderr?: string }).stderr ?? '').slice(-2000),
      },
      cause: error,
    });
  }
}

async function describeCached(
  language: LanguageName,
  program: string,
  environment: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  if (program === process.execPath) return describe(language, program, environment);
  const key = await cacheKey(program, environment);
  const cached = await readCached('interpreters', key);
  // The real program may have been removed since: then a shim must be asked again.
  const real = cached?.[0];
  if (cached && real !== undefined && (await stat(real).catch(() => undefined))) return cached;
  const facts = await describe(language, program, environment);
  await writeCached('interpreters', key, facts);
  return facts;
}

/**
 * What an interpreter answered is kept by its path and time of change and by all that steers a version
 * manager's shim, the working folder included.
 */
async function cacheKey(program: string, environment: NodeJS.ProcessEnv): Promise<unknown> {
  const status = await stat(program);
  const shim = (await isScript(program)) ? [process.cwd(), await versionFiles(), steering(environment)] : [];
  return [program, await realpath(program), status.mtimeMs, status.size, shim];
}

function steering(environment: NodeJS.ProcessEnv): [string, string | undefined][] {
  return Object.entries(environment).filter(([name]) =>
    /^(PYENV|ASDF|MISE|RTX|NVM|NODENV|UV|CONDA|VIRTUAL)_/.test(name),
  );
}

/** When the files that version managers read last changed, from the working folder up and in the home. */
async function versionFiles(): Promise<[string, number][]> {
  const names = ['.python-version', '.node-version', '.nvmrc', '.tool-versions', 'mise.toml', '.mise.toml'];
  const folders: string[] = [homedir(), process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv')];
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    folders.push(folder);
    if (dirname(folder) === folder) break;
  }
  const found = await Promise.all(
    folders
      .flatMap((folder) => [...names, 'version'].map((name) => join(folder, name)))
      .map(
        async (file) => [file, (await stat(file).catch(() => undefined))?.mtimeMs ?? 0] as [string, number],
      ),
  );
  return found.filter(([, time]) => time !== 0);
}

async function isScript(program: string): Promise<boolean> {
  const file = await open(program, constants.O_RDONLY).catch(() => undefined);
  if (file === undefined) return true;
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer.toString('latin1') === '#!';
  } finally {
    await file.close();
  }
}
