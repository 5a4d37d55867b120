import { SandboxError } from '../errors.ts';
import type { Entry, Layer } from './layers.ts';
import type { Origin } from './origin.ts';
import { quote } from './quote.ts';
import { unusableValue } from './refusals.ts';
import { SETTING_KEYS, SETTINGS, type SettingKey, settingOf } from './settings.ts';

export interface Overrides {
  /** Values by setting; an undefined one is not given. */
  readonly overrides?: Readonly<Partial<Record<SettingKey, unknown>>>;
  /** Text of a flag is read like a variable, an option of the library like YAML. */
  readonly overrideKind?: 'flag' | 'option';
  /** What the caller calls each of them, for messages: `--timeout`. */
  readonly overrideNames?: Readonly<Partial<Record<SettingKey, string>>>;
}

/** What flags or options set. Relative paths start at `folder`. */
export function overrideLayer(
  { overrides = {}, overrideKind = 'option', overrideNames = {} }: Overrides,
  folder: string,
): Layer {
  const given = Object.entries(overrides).filter(([, written]) => written !== undefined);
  const entries = given.map(([name, written]): Entry => {
    const key = settingKey(name, written);
    const { type } = settingOf(key);
    const origin = { kind: overrideKind, name: overrideNames[key] ?? key } as const satisfies Origin;
    const isText = overrideKind === 'flag' && typeof written === 'string';
    const value = isText ? type.parse(written, folder) : type.read(written, folder);
    if (value === undefined) throw unusableValue(origin, written, type);
    return { key, value, written, origin };
  });
  return { entries, onlyTightens: false };
}

function settingKey(name: string, written: unknown): SettingKey {
  if (Object.hasOwn(SETTINGS, name)) return name as SettingKey;
  throw new SandboxError('INPUT_INVALID', `There is no setting called ${quote(name)}.`, {
    hint: `Use one of: ${SETTING_KEYS.join(', ')}.`,
    details: { key: name, value: quote(written) },
  });
}
