import type { LanguageName } from './language.ts';

/** What the package manager of a language takes as one package with an optional version; for shell, Debian's. */
const PACKAGE: Readonly<Record<LanguageName, RegExp>> = {
  python: /^[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?(?:\[[\w.-]+\])?(?:(?:[=!~<>]=|[<>])[A-Za-z0-9][\w.*+!-]*)?$/,
  javascript: /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[~^]?[A-Za-z0-9][\w.+-]*)?$/,
  // A name that ends with a dash would take a package away.
  shell: /^[a-z0-9][a-z0-9+.-]*[a-z0-9+](?:=[A-Za-z0-9][A-Za-z0-9.+:~-]*)?$/,
};

const LONGEST = 200;

/** True for the name of a package, with an optional version, and never for an option, an address or a path. */
export function isPackageName(language: LanguageName, text: string): boolean {
  return text.length <= LONGEST && PACKAGE[language].test(text);
}
