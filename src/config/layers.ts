import { SandboxError } from '../errors.ts';
import { describeOrigin, type Origin } from './origin.ts';
import { printable, quote } from './quote.ts';
import { SETTING_KEYS, type SettingKey, type Settings, settingOf } from './settings.ts';

/** One setting as one place gave it, already checked. */
export interface Entry {
  readonly key: SettingKey;
  readonly value: unknown;
  /** As it was written, for messages. */
  readonly written: unknown;
  readonly origin: Origin;
}

/** All that one place sets. */
export interface Layer {
  readonly entries: readonly Entry[];
  /** True for the project file, which an agent may have written and nobody trusts. */
  readonly onlyTightens: boolean;
  /** What whoever uses the settings should know of the place. */
  readonly warning?: string;
}

/** Settings, and where each came from. */
export interface HeldSettings {
  readonly settings: Readonly<Settings>;
  readonly origins: Readonly<Record<SettingKey, Origin>>;
}

/** The settings in force, where each came from, and what was not taken as it was written. */
export interface LoadedSettings extends HeldSettings {
  /** What would hold without the project file: what it sets under one name must not loosen what holds under another. */
  readonly trusted: HeldSettings;
  readonly warnings: readonly string[];
}

/** What holds so far for one setting. */
interface Held {
  readonly value: unknown;
  readonly origin: Origin;
}

/** The lowest layer, with defaults of a caller's own before the usual ones; a relative default path starts at `folder`. */
export function defaultLayer(folder: string, own: Partial<Settings> = {}): Layer {
  const entries = SETTING_KEYS.flatMap((key): Entry[] => {
    const setting = settingOf(key);
    const written = own[key] ?? setting.default;
    if (written === undefined) return [];
    const value = setting.type.read(written, folder);
    return [{ key, value, written, origin: { kind: 'default' } }];
  });
  return { entries, onlyTightens: false };
}

/**
 * Lays later layers over earlier ones. A layer that only tightens never loosens what lies below it: what it
 * asks beyond that becomes a warning that names `trustedFile` as the place for it.
 */
export function mergeLayers(layers: readonly Layer[], trustedFile: string): LoadedSettings {
  const all = merge(layers, trustedFile);
  const trustedLayers = layers.filter(({ onlyTightens }) => !onlyTightens);
  const { settings, origins } =
    trustedLayers.length === layers.length ? all : merge(trustedLayers, trustedFile);
  return Object.freeze({ ...all, trusted: Object.freeze({ settings, origins }) });
}

function merge(layers: readonly Layer[], trustedFile: string): Omit<LoadedSettings, 'trusted'> {
  const held = new Map<SettingKey, Held>();
  const warnings: string[] = [];
  for (const { entries, onlyTightens, warning } of layers) {
    if (warning !== undefined) warnings.push(warning);
    for (const entry of entries) {
      const before = held.get(entry.key);
      const after = onlyTightens ? tightened(before, entry, trustedFile, warning) : replaced(before, entry);
      held.set(entry.key, after);
      if (onlyTightens && !isSame(after.value, entry.value)) {
        warnings.push(clampWarning(before, entry, after, trustedFile));
      }
    }
  }
  cutTimeout(held, warnings);
  return freeze(held, warnings);
}

function replaced(before: Held | undefined, entry: Entry): Held {
  const { inProject, strictestWins } = settingOf(entry.key);
  if (!strictestWins || typeof inProject !== 'function') return entry;
  // Nobody has asked for a default.
  if (before?.origin.kind === 'default') return entry;
  const value = inProject(before?.value, entry.value);
  return before === undefined || isSame(value, entry.value) ? entry : before;
}

function tightened(
  before: Held | undefined,
  entry: Entry,
  trustedFile: string,
  warning: string | undefined,
): Held {
  const { inProject } = settingOf(entry.key);
  if (typeof inProject !== 'function') throw notInProject(entry, inProject.refused, trustedFile, warning);
  const value = inProject(before?.value, entry.value);
  return before !== undefined && isSame(value, before.value) && !isSame(value, entry.value)
    ? before
    : { value, origin: entry.origin };
}

function notInProject(
  { key, written, origin }: Entry,
  reason: string,
  trustedFile: string,
  warning = 'Or look at the whole file and run: glovebox config trust',
): SandboxError {
  const { name, variable } = settingOf(key);
  const variableHint = variable === undefined ? '' : `, or set ${variable}`;
  const { path } = origin as Origin & { path: string };
  return new SandboxError(
    'CONFIG_INVALID',
    `${printable(path)}: ${name} is not taken from a project file, because ${reason}.`,
    {
      hint: `Remove ${name} (${quote(written)}) there and set it in ${printable(trustedFile)}${variableHint}. ${warning}`,
      details: { path, key: name, value: quote(written), origin: describeOrigin(origin) },
    },
  );
}

function clampWarning(before: Held | undefined, entry: Entry, after: Held, trustedFile: string): string {
  const { name, variable, type } = settingOf(entry.key);
  const held = quote(type.show?.(after.value) ?? after.value);
  const { name: writtenName } = entry.origin as Origin & { name: string };
  const subject = writtenName === name ? '' : `${name} `;
  const outcome =
    after === before
      ? `${subject}${held} (${describeOrigin(after.origin)}) stays`
      : `${subject}${held} holds`;
  const variableHint = variable === undefined ? '' : `, or set ${variable}`;
  return `glovebox.yaml asks for ${writtenName} ${quote(entry.written)}; a project file may only tighten, so ${outcome}. Set it in ${printable(trustedFile)}${variableHint}.`;
}

function cutTimeout(held: Map<SettingKey, Held>, warnings: string[]): void {
  const timeout = held.get('timeoutSec') as Held & { value: number };
  const longest = held.get('maxTimeoutSec') as Held & { value: number };
  if (timeout.value <= longest.value) return;
  // A cut default is no longer the default; anything else stays something that was asked for.
  const origin = timeout.origin.kind === 'default' ? longest.origin : timeout.origin;
  held.set('timeoutSec', { value: longest.value, origin });
  warnings.push(
    `timeout_sec ${timeout.value} (${describeOrigin(timeout.origin)}) is cut to max_timeout_sec ${longest.value} (${describeOrigin(longest.origin)}).`,
  );
}

function freeze(held: ReadonlyMap<SettingKey, Held>, warnings: string[]): Omit<LoadedSettings, 'trusted'> {
  const settings = Object.fromEntries([...held].map(([key, { value }]) => [key, value]));
  const origins = SETTING_KEYS.map((key) => [
    key,
    Object.freeze(held.get(key)?.origin ?? { kind: 'default' }),
  ]);
  return {
    // Every value has been through the type of its key, and every key with a default is in the lowest layer.
    settings: Object.freeze(settings) as unknown as Settings,
    origins: Object.freeze(Object.fromEntries(origins)) as Record<SettingKey, Origin>,
    warnings: Object.freeze(warnings),
  };
}

/** Lists are compared as sets. */
export function isSame(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((item) => b.includes(item));
}
