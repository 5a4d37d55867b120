import { SandboxError } from '../errors.ts';
import { findLanguage } from '../languages/index.ts';
import type { Language } from '../languages/language.ts';
import type { Context } from './context.ts';

/** Every language that is allowed; the one that decides what the sandbox is made of comes first. */
export function allLanguages(context: Context, first: Language | undefined): readonly Language[] {
  const all = context.loaded.settings.supportedLanguages.map((name) => findLanguage(name));
  return first === undefined ? all : [first, ...all.filter(({ name }) => name !== first.name)];
}

/** Throws `POLICY_DENIED` for a language that the operator does not allow. */
export function allowedLanguage(context: Context, name: string): Language {
  const language = findLanguage(name);
  const { supportedLanguages } = context.loaded.settings;
  if (supportedLanguages.includes(language.name)) return language;
  throw new SandboxError('POLICY_DENIED', `The language ${language.name} is not allowed here.`, {
    hint: `Allowed: ${supportedLanguages.join(', ') || 'none'}. An operator changes this with SANDBOX_SUPPORTED_LANGUAGES.`,
    details: { language: language.name },
  });
}
