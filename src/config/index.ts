export type { LoadedSettings } from './layers.ts';
export { environmentOf, type LoadOptions, loadSettings, stateFolder } from './load.ts';
export { mcpToken } from './mcpToken.ts';
export { describeOrigin } from './origin.ts';
export { GATES } from './oversightSettings.ts';
export { SETTINGS, type SettingKey, type Settings, settingOf } from './settings.ts';
