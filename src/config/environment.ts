import { SandboxError } from '../errors.ts';
import type { Entry, Layer } from './layers.ts';
import type { Origin } from './origin.ts';
import { quote } from './quote.ts';
import { unusableValue } from './refusals.ts';
import { SETTING_KEYS, settingOf } from './settings.ts';

/** The variable that names the one file to read instead of the user file and the project file. */
export const CONFIG_VARIABLE = 'GLOVEBOX_CONFIG';

/** Variables of features that this version does not have: to ignore one would be to promise what is not kept. */
const NOT_YET: Readonly<Record<string, string>> = { SANDBOX_AUDIT_DIR: 'the audit record' };

const KNOWN: ReadonlySet<string> = new Set([
  CONFIG_VARIABLE,
  ...Object.keys(NOT_YET),
  ...SETTING_KEYS.flatMap((key) => settingOf(key).variable ?? []),
]);

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment sets; an empty variable counts as unset. Relative paths start at `folder`. */
export function environmentLayer(environment: Environment, folder: string): Layer {
  refuseNotYet(environment);
  const entries = SETTING_KEYS.flatMap((key): Entry[] => {
    const { variable, type } = settingOf(key);
    const text = variable === undefined ? undefined : environment[variable];
    if (variable === undefined || text === undefined || text === '') return [];
    const origin = { kind: 'environment', name: variable } as const satisfies Origin;
    const value = type.parse(text, folder);
    if (value === undefined) throw unusableValue(origin, text, type);
    return [{ key, value, written: text, origin }];
  });
  return { entries, onlyTightens: false };
}

/** Variables that are set, have one of our prefixes and mean nothing to us. */
export function unknownVariables(environment: Environment): readonly string[] {
  return Object.keys(environment).filter(
    (name) => /^(SANDBOX|GLOVEBOX)_/.test(name) && !KNOWN.has(name) && Boolean(environment[name]),
  );
}

function refuseNotYet(environment: Environment): void {
  for (const [name, feature] of Object.entries(NOT_YET)) {
    if (!environment[name]) continue;
    throw new SandboxError(
      'CONFIG_INVALID',
      `${name} is ${quote(environment[name])}, but ${feature} is not in this version.`,
      {
        hint: `Unset ${name}.`,
        details: {
          key: name,
          value: quote(environment[name]),
          origin: `environment variable ${name}`,
        },
      },
    );
  }
}
