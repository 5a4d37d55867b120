import { SandboxError } from '../errors.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';

/**
 * The names on the list that count for one language: `python:os` names a language, `os` counts for every one.
 * An entry that is of no use stops with CONFIG_INVALID, whatever language is asked for.
 */
export function blockedModules(list: readonly string[], language: LanguageName): ReadonlySet<string> {
  const entries = list.map(parseEntry);
  return new Set(
    entries.filter((entry) => (entry.language ?? language) === language).map(({ name }) => name),
  );
}

function parseEntry(text: string): { readonly language: LanguageName | null; readonly name: string } {
  const entry = text.trim();
  const colon = entry.indexOf(':');
  const language = colon === -1 ? null : languageOf(entry.slice(0, colon), entry);
  const rest = entry.slice(colon + 1);
  const name =
    language === 'javascript' && rest.startsWith('node:')
      ? rest.slice('node:'.length)
      : rest.normalize('NFKC');
  const isModuleName = language === 'python' ? PYTHON_MODULE : ANY_MODULE;
  if (!isModuleName.test(name)) {
    throw new SandboxError(
      'CONFIG_INVALID',
      `"${entry}" is not the name of a module that could be blocked.`,
      {
        hint: 'Write entries of SANDBOX_BLOCKED_IMPORTS like "os", "python:os.path" or "javascript:fs".',
        details: { entry },
      },
    );
  }
  return { language, name };
}

const PYTHON_MODULE = /^[\p{ID_Start}_][\p{ID_Continue}]*(\.[\p{ID_Start}_][\p{ID_Continue}]*)*$/u;
const ANY_MODULE = /^@?[\p{ID_Start}_][\p{ID_Continue}-]*([./][\p{ID_Continue}-]+)*$/u;

function languageOf(name: string, entry: string): LanguageName {
  const language = LANGUAGE_NAMES.find((known) => known === name);
  if (language !== undefined) return language;
  throw new SandboxError('CONFIG_INVALID', `The blocked import "${entry}" names no known language.`, {
    hint: `Write one of ${LANGUAGE_NAMES.map((known) => `"${known}:"`).join(', ')} before the module, or nothing.`,
    details: { entry },
  });
}
