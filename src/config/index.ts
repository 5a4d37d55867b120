export { settingsJsonSchema } from './jsonSchema.ts';
export type { LoadedSettings } from './layers.ts';
export { type LoadOptions, loadSettings } from './load.ts';
export { describeOrigin, type Origin } from './origin.ts';
export { RUNTIME_NAMES, type RuntimeName } from './runtimeNames.ts';
export { SETTINGS, type SettingKey, type Settings } from './settings.ts';
