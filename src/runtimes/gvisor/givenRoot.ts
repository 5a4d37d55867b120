/** A folder that an operator gives for the root of sandboxes: whether it may be one, and whether it is still the same. */
import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../../languages/language.ts';
import { Folder } from '../host/folder.ts';
import { type FoundInterpreters, searchPath } from '../host/interpreters.ts';
import type { Look } from '../host/look.ts';
import { statInside } from './insideRoot.ts';

export interface GivenRoot {
  /** Without links. */
  readonly path: string;
  /** Changes when the folder or one of the programs that are looked for in it is another, or has changed. */
  readonly state: string;
}

/** Looks at a folder from outside. Throws `CONFIG_INVALID` when it cannot be the root of a sandbox. */
export function readGivenRoot(named: string): GivenRoot {
  let path: string;
  let way: Step[];
  try {
    path = realpathSync(named);
    way = wayTo(path).map((step) => ({ path: step, ...whoMayChange(statSync(step)) }));
  } catch (error) {
    throw invalid(named, `cannot be looked at: ${(error as Error).message}`, error);
  }
  const reason = whyNoRoot(way, process.getuid?.() ?? 0);
  if (reason !== undefined) throw invalid(named, reason);
  if (isSame(statSync(path), statSync('/'))) {
    throw invalid(named, "is this host's own root, and would show all of it");
  }
  const [shell] = statAll(path, ['/bin/sh']);
  if (!shell?.isFile() || (shell.mode & 0o111) === 0) throw invalid(named, 'has no /bin/sh');
  return { path, state: readState(path, LOOKED_FOR) };
}

/** The state of these files of a root, in a word that is another when one of them is. */
export function readState(root: string, paths: readonly string[]): string {
  const states = statAll(root, paths).map(
    (found) => found && [found.dev, found.ino, found.mode, found.size, found.mtimeMs, found.ctimeMs],
  );
  return JSON.stringify(states);
}

function statAll(root: string, paths: readonly string[]): (Stats | undefined)[] {
  const folder = Folder.open(root);
  try {
    return paths.map((path) => statInside(folder, path));
  } finally {
    folder.close();
  }
}

/** What decides what a look inside finds. */
const LOOKED_FOR = [
  '/',
  '/bin/sh',
  ...searchPath(new Map())
    .split(':')
    .flatMap((folder) => [folder, ...candidates().map((name) => `${folder}/${name}`)]),
];

function candidates(): string[] {
  return LANGUAGE_NAMES.flatMap((name) => findLanguage(name).host.candidates);
}

/** A folder on the way to another, and who may change what is in it. */
export interface Step {
  readonly path: string;
  readonly isFolder: boolean;
  readonly uid: number;
  readonly mode: number;
}

function whoMayChange(stats: Stats): Omit<Step, 'path'> {
  return { isFolder: stats.isDirectory(), uid: stats.uid, mode: stats.mode };
}

/** Everything from `/` to this path. */
function wayTo(path: string): string[] {
  return path === dirname(path) ? [path] : [...wayTo(dirname(path)), path];
}

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** Why the end of this way cannot be a root that only root and we decide about; undefined when it can. Pure. */
export function whyNoRoot(way: readonly Step[], us: number): string | undefined {
  const last = way.at(-1);
  if (!last?.isFolder) return 'is not a folder';
  for (const step of way) {
    const { path, uid, mode } = step;
    const which = step === last ? '' : `lies in ${path}, which `;
    if (uid !== 0 && uid !== us) return `${which}belongs to the user ${uid}, who may change what it is`;
    // In such a folder as /tmp nobody can put something else in the place of what is another's.
    const isSafe = step !== last && (mode & STICKY) !== 0;
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && !isSafe) return `${which}may be written to by other users`;
  }
  return undefined;
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

function invalid(named: string, reason: string, cause?: unknown): SandboxError {
  return new SandboxError('CONFIG_INVALID', `The root ${JSON.stringify(named)} for gvisor ${reason}.`, {
    hint: 'Name a folder with a whole root file system that belongs to root and that only root may write to (gvisor_root, GVISOR_ROOT), or none for the folders of this host.',
    details: { root: named },
    cause,
  });
}

/** The interpreters of a given root for these languages, or why one is not there. Pure. */
export function interpretersIn(
  path: string,
  { interpreters }: Pick<Look, 'interpreters'>,
  languages: readonly LanguageName[],
): FoundInterpreters {
  return new Map(
    languages.map((language) => {
      const found = interpreters.get(language);
      return [language, found === undefined ? lacks(path, language) : { ...found, prefixes: [] }];
    }),
  );
}

function lacks(path: string, language: LanguageName): SandboxError {
  const names = findLanguage(language).host.candidates.join(' or ');
  return new SandboxError(
    'LANGUAGE_UNAVAILABLE',
    `The root ${JSON.stringify(path)} has no ${names} to run ${language}, or none that runs.`,
    {
      hint: `Install it there, in ${searchPath(new Map()).replaceAll(':', ', ')}, or name another root (gvisor_root, GVISOR_ROOT).`,
      details: { language, root: path },
    },
  );
}
