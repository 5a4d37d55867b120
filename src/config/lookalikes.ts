import { SandboxError } from '../errors.ts';
import { CONFIG_VARIABLE, type Environment } from './environment.ts';
import { nearest } from './nearest.ts';
import { printable, quote } from './quote.ts';
import { SETTING_KEYS, settingOf } from './settings.ts';

const VARIABLES = [CONFIG_VARIABLE, ...SETTING_KEYS.flatMap((key) => settingOf(key).variable ?? [])];

/** Names that follow from a YAML name but are no variable, and what to use instead; of several the first. */
const YAML_NAMES: ReadonlyMap<string, string> = new Map(
  SETTING_KEYS.flatMap((key): [string, string][] => {
    const { name, variable, alias } = settingOf(key);
    // What is below a language has no name of its own without it.
    if (name.startsWith('languages.')) return [];
    if (variable === undefined) {
      return [[asVariable(name), `security.sandbox.${name} in a configuration file`]];
    }
    const names = alias === undefined ? [name] : [name, alias.name];
    return names.map(asVariable).flatMap((other) => (other === variable ? [] : [[other, variable]]));
  }).reverse(),
);

/**
 * Refuses a variable that was probably meant to be one of ours: ignored, it would leave a limit unset that
 * somebody believes in. Variables that look like none of ours belong to somebody else.
 */
export function refuseLookalikes(names: readonly string[], environment: Environment): void {
  for (const name of names) {
    const meant = YAML_NAMES.get(name) ?? nearest(name, VARIABLES);
    if (meant === undefined) continue;
    throw new SandboxError(
      'CONFIG_INVALID',
      `${printable(name)} is no setting; ${meant} is meant, perhaps.`,
      {
        hint: `Use ${meant} instead, or unset ${printable(name)}.`,
        details: {
          key: name,
          value: quote(environment[name]),
          origin: `environment variable ${printable(name)}`,
          meant,
        },
      },
    );
  }
}

function asVariable(yamlName: string): string {
  return `SANDBOX_${yamlName.slice(yamlName.lastIndexOf('.') + 1).toUpperCase()}`;
}
