import { SandboxError } from '../errors.ts';
import { javascript } from './javascript.ts';
import type { Language, LanguageName } from './language.ts';
import { python } from './python.ts';
import { shell } from './shell.ts';

const LANGUAGES: Readonly<Record<LanguageName, Language>> = { python, javascript, shell };

/** The language of this name or alias. Throws `INPUT_INVALID` for any other. */
export function findLanguage(name: string): Language {
  const wanted = name.toLowerCase();
  const found = Object.values(LANGUAGES).find(
    (language) => language.name === wanted || language.aliases.includes(wanted),
  );
  if (found) return found;
  throw new SandboxError('INPUT_INVALID', `There is no language called ${JSON.stringify(name)}.`, {
    hint: `Use one of: ${Object.keys(LANGUAGES).join(', ')}.`,
    details: { name },
  });
}

/** The language that a file's ending means; undefined for any other ending. */
export function languageOfFile(path: string): Language | undefined {
  return Object.values(LANGUAGES).find((language) =>
    language.extensions.some((extension) => path.toLowerCase().endsWith(extension)),
  );
}
