import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { CONFIG_VARIABLE, type Environment, environmentLayer, unknownVariables } from './environment.ts';
import type { ConfigurationFile } from './fileLayer.ts';
import { defaultLayer, type Layer, type LoadedSettings, mergeLayers } from './layers.ts';
import { type Overrides, overrideLayer } from './overrides.ts';
import { readTextFile } from './readTextFile.ts';
import { unusableFile } from './refusals.ts';

export interface LoadOptions extends Overrides {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly homeDir?: string;
  /** Read instead of the user file and the project file, and trusted like the user file; wins over GLOVEBOX_CONFIG. */
  readonly configFile?: string;
}

const PROJECT_FILE = 'glovebox.yaml';

/**
 * The settings in force: defaults, user file, project file, environment, then flags or options. Only an absent
 * default file means defaults; whatever cannot be read or understood is refused.
 */
export async function loadSettings(options: LoadOptions = {}): Promise<LoadedSettings> {
  const folder = resolve(options.cwd ?? process.cwd());
  const environment = options.env ?? process.env;
  await refuseLookalikes(environment);
  const configFile = options.configFile ?? (environment[CONFIG_VARIABLE] || undefined);
  const userFile = userFilePath(environment, options.homeDir);
  const files =
    configFile === undefined
      ? [await userLayer(userFile), await projectLayer(folder)]
      : [await namedLayer(resolve(folder, configFile), namerOf(options))];
  const layers = [
    defaultLayer(folder),
    ...files,
    environmentLayer(environment, folder),
    overrideLayer(options, folder),
  ];
  return mergeLayers(
    layers.filter((layer) => layer !== undefined),
    userFile ?? '~/.config/glovebox/config.yaml',
  );
}

async function userLayer(path: string | undefined): Promise<Layer | undefined> {
  return path === undefined ? undefined : readLayer({ kind: 'user file', path, folder: dirname(path) });
}

async function projectLayer(folder: string): Promise<Layer | undefined> {
  return readLayer({ kind: 'project file', path: join(folder, PROJECT_FILE), folder });
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
  const text = await readTextFile(file.path, file.kind);
  if (text === undefined) return undefined;
  // Most starts find no file, and the YAML parser is slow to load.
  const { fileLayer } = await import('./fileLayer.ts');
  return fileLayer(text, file);
}

async function refuseLookalikes(environment: Environment): Promise<void> {
  const names = unknownVariables(environment);
  if (names.length === 0) return;
  const lookalikes = await import('./lookalikes.ts');
  lookalikes.refuseLookalikes(names, environment);
}

/** Undefined where the user has no home, and so no file of their own. */
function userFilePath(environment: Environment, homeDir: string | undefined): string | undefined {
  const { XDG_CONFIG_HOME: configHome } = environment as { XDG_CONFIG_HOME?: string };
  // The XDG specification says to ignore a relative path.
  if (configHome !== undefined && isAbsolute(configHome)) return join(configHome, 'glovebox', 'config.yaml');
  const home = homeDir ?? (environment['HOME'] || homeOfUser());
  return home === undefined ? undefined : resolve(home, '.config', 'glovebox', 'config.yaml');
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
