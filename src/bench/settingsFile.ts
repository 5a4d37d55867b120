import { type SettingKey, type Settings, settingOf } from '../config/index.ts';

/** What says where the things of this machine are: it stays as its user has set it. */
const OF_THE_MACHINE = [
  'python',
  'node',
  'bash',
  'dockerImage',
  'dockerRuntime',
  'dockerSeccompProfile',
  'gvisorRoot',
] as const satisfies readonly SettingKey[];

/**
 * The text of a settings file for measuring: the defaults, so that figures of two machines are of the same, with what
 * is where on this one. Nothing is recorded or stored: a thousand executions are nobody's record. What the environment
 * sets still counts. Pure; JSON is YAML.
 */
export function settingsFile(settings: Settings, changed: Readonly<Record<string, unknown>> = {}): string {
  const ofTheMachine = OF_THE_MACHINE.flatMap((key) =>
    settings[key] === undefined ? [] : [[settingOf(key).name, settings[key]] as const],
  );
  const sandbox = { ...Object.fromEntries(ofTheMachine), store_code: 'never', audit: 'off', ...changed };
  return JSON.stringify({ security: { sandbox } });
}
