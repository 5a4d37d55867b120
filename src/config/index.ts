export type { LoadedSettings } from './layers.ts';
export { environmentOf, type LoadOptions, loadSettings, stateFolder } from './load.ts';
export { describeOrigin } from './origin.ts';
export { SETTINGS, type SettingKey, type Settings, settingOf } from './settings.ts';
