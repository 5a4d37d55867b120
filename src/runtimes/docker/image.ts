import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Look } from '../host/look.ts';
import { type Engine, isNotFound } from './engine.ts';
import { DEFAULT_DOCKER_SETTINGS } from './settings.ts';

/** An image as the engine knows it. */
export interface Image {
  readonly name: string;
  /** Its digest: an image of this id never changes. */
  readonly id: string;
  readonly searchPath: string;
  /** Names of the variables that every container of it would have. */
  readonly variables: readonly string[];
  /** Folders that it declares to be volumes. */
  readonly volumes: readonly string[];
}

/** What one look inside found: nothing of it can change for an image's id. */
export type ImageContent = Pick<Look, 'interpreters' | 'seccomp'>;

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Looks an image up; nothing is ever pulled. Throws `RUNTIME_UNAVAILABLE` with the command that brings it. */
export async function inspectImage(engine: Engine, name: string): Promise<Image> {
  try {
    const { Id, Config } = await engine.call<{
      Id: string;
      Config: { Env?: string[] | null; Volumes?: Record<string, unknown> | null } | null;
    }>('GET', `/images/${encodeURIComponent(name)}/json`);
    const variables = (Config?.Env ?? []).map((entry): [string, string] => {
      const end = entry.indexOf('=');
      return end < 0 ? [entry, ''] : [entry.slice(0, end), entry.slice(end + 1)];
    });
    return {
      name,
      id: Id,
      searchPath: new Map(variables).get('PATH') || DEFAULT_PATH,
      variables: variables
        .map(([variable]) => variable)
        .filter((variable) => /^[A-Za-z_]\w*$/.test(variable)),
      volumes: Object.keys(Config?.Volumes ?? {}),
    };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new SandboxError(
      'RUNTIME_UNAVAILABLE',
      `There is no image ${name} on this engine, and nothing is pulled silently.`,
      {
        hint: `Run: ${commandFor(name)}`,
        details: { image: name },
        cause: error,
      },
    );
  }
}

/** The command that brings an image here. Pure. */
export function commandFor(name: string): string {
  return name === DEFAULT_DOCKER_SETTINGS.image ? 'glovebox images build' : `docker pull ${name}`;
}

/** Throws `LANGUAGE_UNAVAILABLE` for a language that an image lacks. */
export function interpreterIn(
  { name }: Image,
  { interpreters }: ImageContent,
  language: LanguageName,
): { readonly path: string; readonly version: string } {
  const found = interpreters.get(language);
  if (found !== undefined) return found;
  const { candidates } = findLanguage(language).host;
  throw new SandboxError(
    'LANGUAGE_UNAVAILABLE',
    `The image ${name} has no ${candidates.join(' or ')} to run ${language}.`,
    {
      hint: `Build one that has it (glovebox images build), or name an image for it: languages.${language}.image in the settings file.`,
      details: { language, image: name },
    },
  );
}
