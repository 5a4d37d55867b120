import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { CONFIG_VARIABLE, type Environment, environmentLayer, unknownVariables } from './environment.ts';
import type { ConfigurationFile } from './fileLayer.ts';
import { defaultLayer, type Layer, type LoadedSettings, mergeLayers } from './layers.ts';
import { PROJECT_FILE } from './origin.ts';
import { type Overrides, overrideLayer } from './overrides.ts';
import { readTextFile } from './readTextFile.ts';
import { unusableFile } from './refusals.ts';
import type { Settings } from './settings.ts';

export interface LoadOptions extends Overrides {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly homeDir?: string;
  /** Read instead of the user file and the project file, and trusted like the user file; wins over GLOVEBOX_CONFIG. */
  readonly configFile?: string;
  /** What holds where nobody has set anything, instead of the usual defaults. */
  readonly defaults?: Partial<Settings>;
}

/** What the user's own file is called in messages, where they have no home. */
export const USER_FILE = '~/.config/glovebox/config.yaml';

/**
 * The settings in force: defaults, user file, project file, environment, then flags or options. Only an absent
 * default file means defaults; whatever cannot be read or understood is refused.
 */
export async function loadSettings(options: LoadOptions = {}): Promise<LoadedSettings> {
  const folder = resolve(options.cwd ?? process.cwd());
  const environment = environmentOf(options);
  await refuseLookalikes(environment);
  const configFile = options.configFile ?? (environment[CONFIG_VARIABLE] || undefined);
  const userFile = userFilePath(options);
  const files =
    configFile === undefined
      ? [await userLayer(userFile), await projectLayer(folder, stateFolder(options))]
      : [await namedLayer(resolve(folder, configFile), namerOf(options))];
  const layers = [
    defaultLayer(folder, options.defaults),
    ...files,
    environmentLayer(environment, folder),
    overrideLayer(options, folder),
  ];
  return mergeLayers(
    layers.filter((layer) => layer !== undefined),
    userFile ?? USER_FILE,
  );
}

/** What the user's own file sets; undefined where there is none. */
export async function userLayer(path: string | undefined): Promise<Layer | undefined> {
  return path === undefined ? undefined : readLayer({ kind: 'user file', path, folder: dirname(path) });
}

async function projectLayer(folder: string, state: string | undefined): Promise<Layer | undefined> {
  const file = await readTextFile(join(folder, PROJECT_FILE), 'project file');
  if (file === undefined) return undefined;
  // Most starts find no file: neither it nor what is trusted costs them anything.
  const { projectFileLayer } = await import('./projectFile.ts');
  return projectFileLayer(file, folder, state);
}

/** Who named the one file: the variable, or the caller. */
function namerOf({ configFile, overrideKind }: LoadOptions): string {
  if (configFile === undefined) return `environment variable ${CONFIG_VARIABLE}`;
  return overrideKind === 'flag' ? '--config' : 'the option configFile';
}

async function namedLayer(path: string, namer: string): Promise<Layer> {
  const layer = await readLayer({ kind: 'config file', path, folder: dirname(path) });
  if (layer !== undefined) return layer;
  throw unusableFile(
    path,
    `There is no such file, and ${namer} names it.`,
    'Create it, or name another file.',
    {
      origin: namer,
    },
  );
}

async function readLayer(file: ConfigurationFile): Promise<Layer | undefined> {
  const found = await readTextFile(file.path, file.kind);
  if (found === undefined) return undefined;
  // Most starts find no file, and the YAML parser is slow to load.
  const { fileLayer } = await import('./fileLayer.ts');
  return fileLayer(found.text, file);
}

async function refuseLookalikes(environment: Environment): Promise<void> {
  const names = unknownVariables(environment);
  if (names.length === 0) return;
  const lookalikes = await import('./lookalikes.ts');
  lookalikes.refuseLookalikes(names, environment);
}

/** Where the user's own file is; undefined where they have no home. */
export function userFilePath(options: Pick<LoadOptions, 'env' | 'homeDir'> = {}): string | undefined {
  const environment = environmentOf(options);
  const { XDG_CONFIG_HOME: configHome } = environment as { XDG_CONFIG_HOME?: string };
  // The XDG specification says to ignore a relative path.
  if (configHome !== undefined && isAbsolute(configHome)) return join(configHome, 'glovebox', 'config.yaml');
  const home = options.homeDir ?? (environment['HOME'] || homeOfUser());
  return home === undefined ? undefined : resolve(home, '.config', 'glovebox', 'config.yaml');
}

/** Where what lasts of this user is kept; undefined where they have no home. */
export function stateFolder(options: Pick<LoadOptions, 'env' | 'homeDir'> = {}): string | undefined {
  const { XDG_STATE_HOME: stateHome, HOME: ofEnvironment } = environmentOf(options) as {
    XDG_STATE_HOME?: string;
    HOME?: string;
  };
  if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, 'glovebox');
  const home = options.homeDir ?? (ofEnvironment || homeOfUser());
  return home === undefined ? undefined : resolve(home, '.local', 'state', 'glovebox');
}

/** The variables that count: those of this process, unless others are given. */
export function environmentOf({ env }: Pick<LoadOptions, 'env'>): Environment {
  return env ?? process.env;
}

function homeOfUser(): string | undefined {
  try {
    return homedir();
  } catch (error) {
    // A user id without an entry in the password file, as in many containers, has no home.
    if ((error as NodeJS.ErrnoException).code === 'ERR_SYSTEM_ERROR') return undefined;
    throw error;
  }
}
