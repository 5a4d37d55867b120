import { describeOrigin, loadSettings, SETTINGS, type SettingKey, settingOf } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import { forTerminal } from './terminal.ts';

/** Prints settings, their values and their origins as YAML with comments; resolves to the exit status. */
export async function explainConfig(
  key: string | undefined,
  flags: { readonly json?: boolean; readonly config?: string },
): Promise<number> {
  const { settings, origins, warnings } = await loadSettings(
    flags.config === undefined ? {} : { configFile: flags.config, overrideKind: 'flag' },
  );
  const keys = (Object.keys(SETTINGS) as SettingKey[]).filter(
    (name) => key === undefined || isNamed(name, key),
  );
  if (keys.length === 0) {
    throw new SandboxError('INPUT_INVALID', `There is no setting called ${JSON.stringify(key)}.`, {
      hint: `Known settings: ${Object.values(SETTINGS)
        .map((setting) => setting.name)
        .join(', ')}.`,
    });
  }
  if (flags.json) {
    const rows = keys.map((name) => [
      SETTINGS[name].name,
      { value: shown(name, settings[name]) ?? null, origin: origins[name] },
    ]);
    process.stdout.write(`${JSON.stringify({ settings: Object.fromEntries(rows), warnings }, null, 2)}\n`);
    return 0;
  }
  for (const name of keys) {
    const value = settings[name] === undefined ? 'unset' : JSON.stringify(shown(name, settings[name]));
    process.stdout.write(
      `${SETTINGS[name].name}: ${forTerminal(value)}  # ${forTerminal(describeOrigin(origins[name]))}\n`,
    );
  }
  for (const warning of warnings) process.stderr.write(`glovebox: warning: ${forTerminal(warning)}\n`);
  return 0;
}

/** As it would be written under this name. */
function shown(name: SettingKey, value: unknown): unknown {
  const { type } = settingOf(name);
  return value === undefined ? undefined : (type.show?.(value) ?? value);
}

function isNamed(name: SettingKey, given: string): boolean {
  const setting = SETTINGS[name];
  return [name, setting.name, setting.variable].includes(given);
}
