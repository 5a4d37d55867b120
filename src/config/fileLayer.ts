import type { SandboxError } from '../errors.ts';
import type { Entry, Layer } from './layers.ts';
import { nearest } from './nearest.ts';
import type { FileKind } from './origin.ts';
import { parseYaml } from './parseYaml.ts';
import { printable, quote } from './quote.ts';
import { unusableFile, unusableValue } from './refusals.ts';
import { type SettingKey, settingOf } from './settings.ts';
import { YAML_KEYS } from './yamlKeys.ts';

export interface ConfigurationFile {
  readonly kind: FileKind;
  /** Absolute; relative paths in the file start at its folder. */
  readonly path: string;
  readonly folder: string;
}

type Mapping = Readonly<Record<string, unknown>>;

/** What the text of a configuration file sets. Refuses every key that it does not know. */
export function fileLayer(text: string, file: ConfigurationFile): Layer {
  const document = parseYaml(text, file.path, file.kind) ?? {};
  const security = onlyKey('security', '', mapping(document, 'The file', file), file);
  const sandbox = onlyKey('sandbox', 'security.', security, file);
  const entries = readMapping(sandbox, '', file);
  refuseTwoNames(entries, file);
  return { entries, onlyTightens: file.kind === 'project file' };
}

/** The mapping under the one key that may stand here. */
function onlyKey(name: string, prefix: string, parent: Mapping, file: ConfigurationFile): Mapping {
  for (const key of Object.keys(parent)) {
    if (key !== name) throw unknownKey(`${prefix}${key}`, parent[key], [`${prefix}${name}`], file);
  }
  return Object.hasOwn(parent, name) ? mapping(parent[name], `${prefix}${name}`, file) : {};
}

function readMapping(values: Mapping, prefix: string, file: ConfigurationFile): readonly Entry[] {
  return Object.entries(values).flatMap(([part, written]): readonly Entry[] => {
    const name = `${prefix}${part}`;
    const meaning = part.includes('.') ? undefined : YAML_KEYS.get(name);
    if (meaning === undefined) throw unknownKey(name, written, siblings(prefix), file);
    if (meaning.kind === 'section') return readMapping(mapping(written, name, file), `${name}.`, file);
    const origin = { kind: file.kind, path: file.path, name };
    const value = meaning.type.read(written, file.folder);
    if (value === undefined) throw unusableValue(origin, written, meaning.type);
    return [{ key: meaning.key, value, written, origin }];
  });
}

function mapping(value: unknown, name: string, file: ConfigurationFile): Mapping {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Mapping;
  throw unusableFile(
    file.path,
    `${name} is ${quote(value)}; it must be a mapping.`,
    'Write "key: value" lines, indented below the key that they belong to, or remove the empty key.',
    { key: name, value: quote(value), origin: file.kind },
  );
}

function refuseTwoNames(entries: readonly Entry[], file: ConfigurationFile): void {
  const seen = new Map<SettingKey, Entry>();
  for (const entry of entries) {
    const first = seen.get(entry.key);
    seen.set(entry.key, entry);
    if (first === undefined) continue;
    const { name, alias } = settingOf(entry.key);
    throw unusableFile(
      file.path,
      `${name} and ${alias?.name} are the same setting, and both are there (${quote(first.written)} and ${quote(entry.written)}).`,
      `Keep ${name} and remove ${alias?.name}.`,
      { key: name, value: quote(entry.written), origin: file.kind },
    );
  }
}

function unknownKey(
  name: string,
  written: unknown,
  known: readonly string[],
  file: ConfigurationFile,
): SandboxError {
  const meant = meantKey(name, known);
  const question = meant === undefined ? '.' : `; did you mean ${fullName(meant)}?`;
  return unusableFile(
    file.path,
    `${quote(name)} is no key that is known there${question}`,
    meant === undefined
      ? `Remove it; the keys that are known there: ${known.join(', ') || 'none'}.`
      : `Write ${fullName(meant)}, or remove ${quote(name)}.`,
    { key: printable(name), value: quote(written), origin: file.kind },
  );
}

/** A neighbour with nearly the same name, else a key with nearly the same last part that belongs elsewhere. */
function meantKey(name: string, known: readonly string[]): string | undefined {
  const elsewhere = new Map([...YAML_KEYS.keys()].map((key) => [lastPart(key), key]));
  const meant = nearest(lastPart(normal(name)), [...elsewhere.keys()]);
  return nearest(normal(name), known) ?? (meant === undefined ? undefined : elsewhere.get(meant));
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function siblings(prefix: string): readonly string[] {
  return [...YAML_KEYS.keys()].filter(
    (name) => name.startsWith(prefix) && !name.slice(prefix.length).includes('.'),
  );
}

/** What people write for a key out of habit: camel case, dashes, the name of the variable. */
function normal(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_')
    .replace(/^sandbox_/, '');
}

function fullName(name: string): string {
  return name.startsWith('security') ? name : `security.sandbox.${name}`;
}
