import type { Entry, Layer } from './layers.ts';
import type { Origin } from './origin.ts';
import { unusableValue } from './refusals.ts';
import { SETTING_KEYS, settingOf } from './settings.ts';

/** The variable that names the one file to read instead of the user file and the project file. */
export const CONFIG_VARIABLE = 'GLOVEBOX_CONFIG';

/** What the callers of `glovebox mcp --http` have to send. */
export const MCP_TOKEN_VARIABLE = 'GLOVEBOX_MCP_TOKEN';

const KNOWN: ReadonlySet<string> = new Set([
  CONFIG_VARIABLE,
  MCP_TOKEN_VARIABLE,
  ...SETTING_KEYS.flatMap((key) => settingOf(key).variable ?? []),
]);

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment sets; an empty variable counts as unset. Relative paths start at `folder`. */
export function environmentLayer(environment: Environment, folder: string): Layer {
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
