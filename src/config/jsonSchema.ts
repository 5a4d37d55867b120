import { SETTING_KEYS, settingOf } from './settings.ts';
import { YAML_KEYS, type YamlKey } from './yamlKeys.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** The JSON Schema of a configuration file, for editors. */
export function settingsJsonSchema(): object {
  const sandbox = {
    ...section('The settings of Glovebox.', ''),
    allOf: aliasPairs().map(([name, alias]) => ({ not: { allOf: [present(name), present(alias)] } })),
  };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Glovebox configuration',
    ...closed('A configuration file of Glovebox.', {
      security: closed('Settings about security.', { sandbox }),
    }),
  };
}

/** All keys one level below `prefix`. */
function section(description: string, prefix: string): JsonSchema {
  const properties = [...YAML_KEYS].flatMap(([name, meaning]) => {
    const part = name.slice(prefix.length);
    const isHere = name.startsWith(prefix) && !part.includes('.');
    return isHere ? [[part, schemaOf(name, meaning)]] : [];
  });
  return closed(description, Object.fromEntries(properties));
}

function schemaOf(name: string, meaning: YamlKey): JsonSchema {
  if (meaning.kind === 'section') return section(meaning.description, `${name}.`);
  const setting = settingOf(meaning.key);
  if (setting.name !== name) {
    return {
      ...meaning.type.schema,
      description: `Another name of ${setting.name}: ${setting.description}`,
    };
  }
  return {
    ...meaning.type.schema,
    description: setting.description,
    ...(setting.default === undefined ? {} : { default: setting.default }),
  };
}

function aliasPairs(): readonly (readonly [string, string])[] {
  return SETTING_KEYS.flatMap((key) => {
    const { name, alias } = settingOf(key);
    return alias === undefined ? [] : [[name, alias.name] as const];
  });
}

/** True of a mapping in which the key stands, one level deeper for each dot. */
function present(name: string): JsonSchema {
  const [first = name, ...rest] = name.split('.');
  return rest.length === 0
    ? { required: [first] }
    : { required: [first], properties: { [first]: present(rest.join('.')) } };
}

function closed(description: string, properties: JsonSchema): JsonSchema {
  return { type: 'object', description, properties, additionalProperties: false };
}
