import { randomBytes } from 'node:crypto';
import { isSandboxError, LANGUAGE_NAMES, type LanguageName } from '../../src/index.ts';
import type { Target } from './targets.ts';

/** The version of a target's interpreter for each language; absent where it has none. */
export async function interpretersOf({ runtime }: Target): Promise<Map<LanguageName, string>> {
  const limit = (value: number) => ({ value, default: true });
  const guest = await runtime.create({
    id: randomBytes(6).toString('hex'),
    policy: {
      network: 'none',
      networkIsDefault: true,
      requires: {},
      limits: { memoryMb: limit(256), diskMb: limit(64), processes: limit(40), timeoutSec: limit(30) },
    },
    languages: LANGUAGE_NAMES,
  });
  const versions = new Map<LanguageName, string>();
  try {
    for (const language of LANGUAGE_NAMES) {
      try {
        versions.set(language, (await guest.interpreter(language)).version);
      } catch (error) {
        if (!isSandboxError(error) || error.code !== 'LANGUAGE_UNAVAILABLE') throw error;
      }
    }
  } finally {
    await guest.destroy();
  }
  return versions;
}
