import type { LanguageName } from '../language.ts';
import type { Installer, RegistryName } from './installer.ts';
import { npm } from './npm.ts';
import { pip } from './pip.ts';

export const INSTALLERS: Readonly<Record<RegistryName, Installer>> = { pypi: pip, npm };

/** The registry that packages of a language come from; undefined where there is none. */
export function registryOf(language: LanguageName): RegistryName | undefined {
  return Object.values(INSTALLERS).find((installer) => installer.language === language)?.registry;
}
