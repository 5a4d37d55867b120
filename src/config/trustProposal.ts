/** What a person is to look at before they trust a project file. */
import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isSandboxError, SandboxError } from '../errors.ts';
import { fileLayer } from './fileLayer.ts';
import { defaultLayer, isSame, type LoadedSettings, mergeLayers } from './layers.ts';
import { environmentOf, type LoadOptions, stateFolder, USER_FILE, userFilePath, userLayer } from './load.ts';
import { type Origin, PROJECT_FILE } from './origin.ts';
import { trustedLayer } from './projectFile.ts';
import { readTextFile } from './readTextFile.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';
import { sha256, type Trust, TrustStore } from './trust.ts';

/** A project file, read once, and what it would mean to trust it. */
export interface TrustProposal {
  /** Without links but, perhaps, the file itself. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  readonly trust: Trust;
  /** Against what holds while nobody trusts it, and without the environment. */
  readonly changes: readonly TrustChange[];
  /** Why nothing runs here while nobody trusts it. */
  readonly refusedNow?: string;
}

/** A setting that would have another value, or the same from another place. */
export interface TrustChange {
  readonly name: string;
  /** As they would be written; undefined is unset. */
  readonly before: unknown;
  readonly after: unknown;
  /** Why a project file that nobody trusts may not do it; absent where it may. */
  readonly loosens?: string;
  /** Whether the value is a place of this host, where something else may lie tomorrow. */
  readonly isPlace: boolean;
  /** The variable that is set here and wins over it. */
  readonly variable?: string;
}

type Surroundings = Pick<LoadOptions, 'cwd' | 'env' | 'homeDir'>;

/** Where pins are kept. Throws `CONFIG_INVALID` where the user has no home. */
export function trustStore(surroundings: Surroundings): TrustStore {
  const folder = stateFolder(surroundings);
  if (folder !== undefined) return new TrustStore(folder);
  throw new SandboxError(
    'CONFIG_INVALID',
    'This user has no home, so there is no place for what they trust.',
    {
      hint: 'Set XDG_STATE_HOME to a folder of this user.',
    },
  );
}

/**
 * Reads a project file and says what trusting it would change. Throws `INPUT_INVALID` where there is none, and
 * `CONFIG_INVALID` where it is not a valid one.
 */
export async function proposeTrust(
  file: string | undefined,
  surroundings: Surroundings,
): Promise<TrustProposal> {
  const { path } = await projectFileAt(file, surroundings);
  const read = await readTextFile(path, 'project file');
  if (read === undefined) throw noSuchFile(path);
  const { text, bytes } = read;
  return {
    path,
    bytes,
    sha256: sha256(bytes),
    trust: trustStore(surroundings).trustOf(path, bytes),
    ...(await effectOf(text, dirname(path), surroundings)),
  };
}

/**
 * The project file that is meant: `path` is its true place, and `named` where it was looked for. Throws `INPUT_INVALID`
 * for a file that is never read as a project file.
 */
export async function projectFileAt(
  file: string = PROJECT_FILE,
  { cwd }: Surroundings,
): Promise<{ readonly path: string; readonly named: string }> {
  const named = resolve(cwd ?? process.cwd(), file);
  if (basename(named) !== PROJECT_FILE) {
    throw new SandboxError(
      'INPUT_INVALID',
      `${JSON.stringify(file)} is no project file: only ${PROJECT_FILE} is one.`,
      {
        hint: `Name a file called ${PROJECT_FILE}; any other is trusted where --config names it.`,
        details: { path: named },
      },
    );
  }
  // A folder that is gone has only the name that it had.
  const folder = await realpath(dirname(named)).catch(() => dirname(named));
  return { path: join(folder, PROJECT_FILE), named };
}

async function effectOf(
  text: string,
  folder: string,
  surroundings: Surroundings,
): Promise<Pick<TrustProposal, 'changes' | 'refusedNow'>> {
  const userFile = userFilePath(surroundings);
  const own = (await userLayer(userFile)) ?? { entries: [], onlyTightens: false };
  const below = [defaultLayer(folder), own];
  const merged = (...project: Parameters<typeof mergeLayers>[0]) =>
    mergeLayers([...below, ...project], userFile ?? USER_FILE);
  // What is wrong with the file itself is thrown here, before anything that only trust would allow.
  const after = merged(trustedLayer(text, folder));
  try {
    const path = join(folder, PROJECT_FILE);
    const before = merged(fileLayer(text, { kind: 'project file', path, folder }));
    return { changes: changesBetween(before, after, surroundings) };
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { changes: changesBetween(merged(), after, surroundings), refusedNow: error.message };
  }
}

type Held = Pick<LoadedSettings, 'settings' | 'origins' | 'trusted'>;

function changesBetween(before: Held, after: Held, surroundings: Surroundings): TrustChange[] {
  const environment = environmentOf(surroundings);
  return SETTING_KEYS.flatMap((key): TrustChange[] => {
    const from: unknown = isForSurfaces(key, before) ? undefined : before.settings[key];
    const to: unknown = after.settings[key];
    if (isSame(from, to) && placeOf(before.origins[key]) === placeOf(after.origins[key])) return [];
    const loosens = whyLooser(key, from, to);
    const { name, type, variable } = settingOf(key);
    const written = (value: unknown) => (value === undefined ? undefined : (type.show?.(value) ?? value));
    return [
      {
        name,
        before: written(from),
        after: written(to),
        isPlace: typeof to === 'string' && isAbsolute(to),
        ...(loosens === undefined ? {} : { loosens }),
        ...(variable !== undefined && environment[variable] ? { variable } : {}),
      },
    ];
  });
}

/** Where nobody but the project names a gate, each surface compares it with its own. */
function isForSurfaces(key: SettingKey, { trusted }: Held): boolean {
  return key === 'gate' && trusted.settings.gate === undefined;
}

/** The same file is the same place, trusted or not. */
function placeOf(origin: Origin): string {
  return 'path' in origin ? `file ${origin.path}` : origin.kind;
}

function whyLooser(key: SettingKey, from: unknown, to: unknown): string | undefined {
  const { inProject } = settingOf(key);
  if (typeof inProject !== 'function') return inProject.refused;
  if (isSame(from, to)) return undefined;
  if (!isSame(inProject(from, to), to)) return 'it is less strict than what holds now';
  if (key === 'gate' && from === undefined && to !== 'strict') {
    return 'where it is unset, what agents use may ask about more';
  }
  return undefined;
}

function noSuchFile(path: string): SandboxError {
  return new SandboxError('INPUT_INVALID', `There is no ${JSON.stringify(path)}.`, {
    hint: `Go to the folder of the project, or name its ${PROJECT_FILE}.`,
    details: { path },
  });
}
