/**
 * What may stand for one package: its name, with a version or a range where somebody wants one, and nothing that a
 * package manager would take for an option, an address, a path, an alias or a condition.
 */
import type { LanguageName } from './language.ts';

/** A package as it was asked for. */
export interface PackageWish {
  /** As the package manager gets it. */
  readonly text: string;
  /** The name alone, as it was written. */
  readonly name: string;
}

interface Grammar {
  readonly pattern: RegExp;
  /** What the package manager takes for a file where the text, or the name, ends so. */
  readonly archive?: RegExp;
  readonly taken?: readonly string[];
}

/** PEP 508: letters and digits at both ends. */
const PYTHON_NAME = '[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?';

/** PEP 440, with all the spellings that it has other words for. */
const PYTHON_RELEASE = 'v?(?:[0-9]+!)?[0-9]+(?:\\.[0-9]+)*';
const PYTHON_SUFFIX = [
  '(?:[-_.]?(?:alpha|beta|preview|pre|rc|a|b|c)[-_.]?[0-9]*)?',
  '(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?',
  '(?:[-_.]?dev[-_.]?[0-9]*)?',
].join('');
const PYTHON_LOCAL = '(?:\\+[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*)?';
const PYTHON_SPECIFIER = `(?:${[
  `(?:==|!=)(?:${PYTHON_RELEASE}${PYTHON_SUFFIX}${PYTHON_LOCAL}|${PYTHON_RELEASE}\\.\\*)`,
  `(?:<=|>=|<|>)${PYTHON_RELEASE}${PYTHON_SUFFIX}`,
  // Only its last part may change, so there are two at least.
  `~=${PYTHON_RELEASE}\\.[0-9]+${PYTHON_SUFFIX}`,
].join('|')})`;

/** Names of old packages have capital letters. */
const NPM_NAME = '[A-Za-z0-9][A-Za-z0-9._~-]*';
const NPM_VERSION =
  '(?:[~^=]|[<>]=?)?v?[0-9]+(?:\\.(?:[0-9]+|[xX*])){0,2}(?:-[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?';
const NPM_TAG = '[A-Za-z][A-Za-z0-9._-]*';

const GRAMMARS: Readonly<Record<LanguageName, Grammar>> = {
  python: {
    pattern: new RegExp(
      `^(?<name>${PYTHON_NAME})(?:\\[${PYTHON_NAME}(?:,${PYTHON_NAME})*\\])?(?:${PYTHON_SPECIFIER}(?:,${PYTHON_SPECIFIER})*)?$`,
      'i',
    ),
    archive: /\.(?:zip|whl|tar|tgz|tbz|txz|tlz|tar\.(?:gz|bz2|xz|lz|lzma))$/i,
  },
  javascript: {
    pattern: new RegExp(
      `^(?<name>(?:@[A-Za-z0-9~-][A-Za-z0-9._~-]*/)?${NPM_NAME})(?:@(?:${NPM_VERSION}|${NPM_TAG}|\\*))?$`,
    ),
    archive: /\.(?:tgz|tar|tar\.gz)$/i,
    taken: ['node_modules', 'favicon.ico'],
  },
  // A name that ends with a dash would take a package away.
  shell: {
    pattern: /^(?<name>[a-z0-9][a-z0-9+.-]*[a-z0-9+])(?:=[A-Za-z0-9][A-Za-z0-9.+:~-]*)?$/,
  },
};

const LONGEST = 200;

/** Reads one package of a language's package manager; for shell, Debian's. Undefined for whatever is not only that. */
export function parsePackage(language: LanguageName, text: string): PackageWish | undefined {
  // Before the expression looks at it: what is long costs time.
  if (text.length > LONGEST) return undefined;
  const { pattern, archive, taken } = GRAMMARS[language];
  const name = pattern.exec(text)?.groups?.['name'];
  if (name === undefined || taken?.includes(name.toLowerCase())) return undefined;
  return archive?.test(text) || archive?.test(name) ? undefined : { text, name };
}

/** True for the name of a package, with an optional version, and never for an option, an address or a path. */
export function isPackageName(language: LanguageName, text: string): boolean {
  return parsePackage(language, text) !== undefined;
}
