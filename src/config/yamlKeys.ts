import { LANGUAGE_NAMES } from '../languages/language.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';
import type { ValueType } from './valueTypes.ts';

/** What one key under `security.sandbox` means. */
export type YamlKey =
  | { readonly kind: 'setting'; readonly key: SettingKey; readonly type: ValueType<unknown> }
  | { readonly kind: 'section'; readonly description: string };

/** Every key that may stand under `security.sandbox`, with a dot for each level. */
export const YAML_KEYS: ReadonlyMap<string, YamlKey> = new Map<string, YamlKey>([
  ...SETTING_KEYS.flatMap((key): [string, YamlKey][] => {
    const { name, alias, type } = settingOf(key);
    const own: [string, YamlKey] = [name, { kind: 'setting', key, type }];
    return alias === undefined ? [own] : [own, [alias.name, { kind: 'setting', key, type: alias.type }]];
  }),
  ['limits', { kind: 'section', description: 'Limits under their other names.' }],
  ['network', { kind: 'section', description: 'What code may reach.' }],
  ['network.allowed_registries', { kind: 'section', description: 'Where packages may be installed from.' }],
  ['warm', { kind: 'section', description: 'Sandboxes that are kept ready.' }],
  ['languages', { kind: 'section', description: 'Settings of single languages.' }],
  ...LANGUAGE_NAMES.map((name): [string, YamlKey] => [
    `languages.${name}`,
    { kind: 'section', description: `Settings of ${name}.` },
  ]),
  ['hitl', { kind: 'section', description: 'Approval by a person.' }],
]);
