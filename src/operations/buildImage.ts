import { readFile } from 'node:fs/promises';
import type { LoadedSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { isPackageName } from '../languages/packageNames.ts';
import { buildImage as build, findBase } from '../runtimes/docker/build.ts';
import type { BuildLine } from '../runtimes/docker/buildLog.ts';
import { connect, unavailableError } from '../runtimes/docker/connect.ts';
import { inspectImage } from '../runtimes/docker/image.ts';
import { lookInside } from '../runtimes/docker/index.ts';
import { nodeForImage } from '../runtimes/docker/nodeBinary.ts';
import { npmForImage } from '../runtimes/docker/npmFolder.ts';
import { DEFAULT_DOCKER_SETTINGS } from '../runtimes/docker/settings.ts';
import { packageFile } from '../version.ts';
import { runtimeOptions } from './context.ts';

type Packages = Readonly<Partial<Record<LanguageName, readonly string[]>>>;

export interface BuildImageOptions {
  /** Names the engine's runtime and the packages that every image has (`languages.<name>.default_packages`). */
  readonly loaded: Pick<LoadedSettings, 'settings'>;
  /** The image to start from; the Dockerfile's own otherwise. */
  readonly base?: string;
  /** Packages that every sandbox of the image has: from pip, from npm, and for shell from Debian. */
  readonly packages?: Packages;
  /** What the image is called; otherwise as the runtime `docker` expects it by default. */
  readonly tag?: string;
  /** Whether the engine may pull a base that it does not have. */
  readonly pull?: boolean;
  /** A Linux binary of Node.js; the one that runs this otherwise. */
  readonly node?: string;
  /** Told each line that the engine says. */
  readonly onLine?: (line: BuildLine) => void;
  readonly signal?: AbortSignal;
}

export interface BuiltImage {
  readonly tag: string;
  readonly id: string;
  readonly sizeMb: number;
  /** What a look into a sandbox of it found. */
  readonly interpreters: ReadonlyMap<LanguageName, { readonly path: string; readonly version: string }>;
}

/** Builds the image of the runtime `docker` as the settings want it, and looks what is in it. */
export async function buildImage({ loaded, ...options }: BuildImageOptions): Promise<BuiltImage> {
  const settings = { ...DEFAULT_DOCKER_SETTINGS, ...runtimeOptions(loaded).docker };
  // Never the name of an image of somebody else's that the settings may name.
  const { tag = DEFAULT_DOCKER_SETTINGS.image, node = process.execPath, pull: mayPull = false } = options;
  const packages = packageArguments(together(defaultPackages(loaded), options.packages ?? {}));
  const connection = await connect(settings.runtime);
  if ('reason' in connection) throw unavailableError('docker', connection);
  const { engine } = connection;
  const dockerfile = await readFile(packageFile('images/Dockerfile'));
  const base = await findBase(engine, options.base ?? defaultBase(dockerfile.toString()), {
    mayPull,
    makeBase: packageFile('images/debian-base.sh'),
  });
  const { Arch } = await engine.call<{ Arch: string }>('GET', '/version');
  const { id, sizeBytes } = await build(engine, {
    tag,
    context: [
      { name: 'Dockerfile', mode: 0o644, size: dockerfile.length, content: [dockerfile] },
      await nodeForImage(node, Arch),
      ...(await npmForImage(node)),
    ],
    buildArguments: { BASE_IMAGE: base, ...packages },
    ...(options.onLine === undefined ? {} : { onLine: options.onLine }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const content = await lookInside(connection, await inspectImage(engine, id), settings, false);
  return { tag, id, sizeMb: Math.round(sizeBytes / 1024 ** 2), interpreters: content.interpreters };
}

function defaultPackages({ settings }: Pick<LoadedSettings, 'settings'>): Packages {
  return {
    python: settings.pythonPackages ?? [],
    javascript: settings.javascriptPackages ?? [],
    shell: settings.shellPackages ?? [],
  };
}

/** Both, each package once. Pure. */
function together(some: Packages, more: Packages): Packages {
  return Object.fromEntries(
    LANGUAGE_NAMES.map((language) => [
      language,
      [...new Set([...(some[language] ?? []), ...(more[language] ?? [])])],
    ]),
  );
}

/** The build arguments by which the Dockerfile gets packages. */
const ARGUMENTS: Readonly<Record<LanguageName, string>> = {
  python: 'PACKAGES',
  javascript: 'JAVASCRIPT_PACKAGES',
  shell: 'SHELL_PACKAGES',
};

/** Throws `INPUT_INVALID` for what is no package of an index: an option, an address, a path. Pure. */
export function packageArguments(packages: Packages): Record<string, string> {
  return Object.fromEntries(
    LANGUAGE_NAMES.map((language) => {
      const names = packages[language] ?? [];
      const wrong = names.find((name) => !isPackageName(language, name));
      if (wrong === undefined) return [ARGUMENTS[language], names.join(' ')];
      throw new SandboxError('INPUT_INVALID', `${JSON.stringify(wrong)} is no package for ${language}.`, {
        hint: 'Give names with an optional version, as in: --packages numpy,pandas==2.2.3',
        details: { language, package: wrong },
      });
    }),
  );
}

/** What the Dockerfile starts from when nobody says otherwise. */
function defaultBase(dockerfile: string): string {
  const base = /^ARG BASE_IMAGE=(\S+)$/m.exec(dockerfile)?.[1];
  if (base === undefined) throw new Error('images/Dockerfile names no base');
  return base;
}
