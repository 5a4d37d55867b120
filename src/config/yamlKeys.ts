import { LANGUAGE_NAMES } from '../languages/language.ts';
import { SETTING_KEYS, type SettingKey, settingOf } from './settings.ts';
import { boolean, texts, type ValueType } from './valueTypes.ts';

/** What one key under `security.sandbox` means. */
export type YamlKey =
  | { readonly kind: 'setting'; readonly key: SettingKey; readonly type: ValueType<unknown> }
  | { readonly kind: 'section'; readonly description: string }
  /** Accepted only with the value that holds anyway. */
  | {
      readonly kind: 'fixed';
      readonly type: ValueType<unknown>;
      readonly holds: (value: unknown) => boolean;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly description: string;
    }
  | { readonly kind: 'not yet' };

/** Features that this version does not have, by the name of their key. */
const NOT_YET = [
  'audit_dir',
  'network.host_map',
  'network.allowed_registries',
  'hitl.enabled',
  'hitl.auto_approve_low_risk',
  'hitl.rules',
];

/** Every key that may stand under `security.sandbox`, with a dot for each level. */
export const YAML_KEYS: ReadonlyMap<string, YamlKey> = new Map<string, YamlKey>([
  ...SETTING_KEYS.flatMap((key): [string, YamlKey][] => {
    const { name, alias, type } = settingOf(key);
    const own: [string, YamlKey] = [name, { kind: 'setting', key, type }];
    return alias === undefined ? [own] : [own, [alias.name, { kind: 'setting', key, type: alias.type }]];
  }),
  ['limits', { kind: 'section', description: 'Limits under their other names.' }],
  ['network', { kind: 'section', description: 'What code may reach: nothing, in this version.' }],
  [
    'network.enabled_by_default',
    {
      kind: 'fixed',
      type: boolean,
      holds: (value) => value === false,
      schema: { const: false },
      description: 'Whether code has a network when nobody says so; only false in this version.',
    },
  ],
  [
    'network.allowed_domains',
    {
      kind: 'fixed',
      type: texts,
      holds: (value) => Array.isArray(value) && value.length === 0,
      schema: { type: 'array', maxItems: 0 },
      description: 'The hosts that code may reach; only an empty list in this version.',
    },
  ],
  ['languages', { kind: 'section', description: 'Settings of single languages.' }],
  ...LANGUAGE_NAMES.map((name): [string, YamlKey] => [
    `languages.${name}`,
    { kind: 'section', description: `Settings of ${name}.` },
  ]),
  ['hitl', { kind: 'section', description: 'Approval by a person: not in this version.' }],
  ...NOT_YET.map((name): [string, YamlKey] => [name, { kind: 'not yet' }]),
]);
