import type { LoadOptions, SettingKey } from '../config/index.ts';

/** The flags that are settings, and win over all others. */
const SETTING_OF_FLAG = {
  '--runtime': 'type',
  '--timeout': 'timeoutSec',
  '--memory-mb': 'memoryMb',
  '--disk-mb': 'diskMb',
  '--cpu': 'cpuLimit',
  '--max-output-kb': 'maxOutputKb',
  '--lifetime': 'lifetimeSec',
  '--idle-timeout': 'idleTimeoutSec',
  '--min-isolation': 'minIsolation',
  '--gate': 'gate',
} as const satisfies Readonly<Record<string, SettingKey>>;

type SettingFlag = keyof typeof SETTING_OF_FLAG;

/** What flags set, as they were written; those that are absent set nothing. Pure. */
export function settingFlags(
  flags: Readonly<Partial<Record<SettingFlag, string | undefined>>>,
): Required<Pick<LoadOptions, 'overrides' | 'overrideKind' | 'overrideNames'>> {
  const known = Object.entries(SETTING_OF_FLAG) as [SettingFlag, SettingKey][];
  return {
    overrideKind: 'flag',
    overrides: Object.fromEntries(known.map(([flag, key]) => [key, flags[flag]])),
    overrideNames: Object.fromEntries(known.map(([flag, key]) => [key, flag])),
  };
}
