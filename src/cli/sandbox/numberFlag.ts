import { type SettingKey, settingOf } from '../../config/index.ts';
import { unusableValue } from '../../config/refusals.ts';

/** The value of a flag that is held to the same as a setting. Throws `INPUT_INVALID`. */
export function numberFlag(name: string, written: string | undefined, key: SettingKey): number | undefined {
  if (written === undefined) return undefined;
  const { type } = settingOf(key);
  const value = type.parse(written, '');
  if (typeof value !== 'number') throw unusableValue({ kind: 'flag', name }, written, type);
  return value;
}
