import type { LoadedSettings } from '../config/index.ts';
import { isSandboxError } from '../errors.ts';
import type { LanguageName } from '../languages/language.ts';
import { type Choice, chooseRuntime } from '../runtimes/choose.ts';
import type { Runtime, WarmedBy } from '../runtimes/runtime.ts';
import { WarmPool } from '../sandbox/warm/warmPool.ts';
import { buildPolicy } from './policy.ts';

/** What waits for programs in one language on this machine, or why nothing does. */
export type WarmHere = { readonly language: LanguageName } & (
  | { readonly warmedBy: WarmedBy }
  | { readonly warmedBy: null; readonly because: string }
);

/** Tries with one sandbox for each language whether its interpreter can wait; all are gone when this resolves. Never throws. */
export async function warmHere(loaded: LoadedSettings, runtime: Runtime): Promise<readonly WarmHere[]> {
  const { supportedLanguages, warmPreload } = loaded.settings;
  let choice: Choice;
  try {
    const { policy } = buildPolicy(loaded, {}, runtime.name);
    choice = await chooseRuntime(async () => runtime, undefined, policy);
  } catch (error) {
    const because = isSandboxError(error) ? error.message : String(error);
    return supportedLanguages.map((language) => ({ language, warmedBy: null, because }));
  }
  await using pool = new WarmPool({ memoryMb: Number.POSITIVE_INFINITY });
  return await Promise.all(supportedLanguages.map((language) => tried(pool, choice, language, warmPreload)));
}

async function tried(
  pool: WarmPool,
  { runtime, policy }: Choice,
  language: LanguageName,
  modules: readonly string[],
): Promise<WarmHere> {
  if (policy.network === 'allowlist') {
    return {
      language,
      warmedBy: null,
      because: 'An allowlist needs a relay, which is started with a program.',
    };
  }
  const preload = language === 'python' ? modules : [];
  const kind = { policy, languages: [language], language, preload };
  const warmedBy = await pool.fill(runtime, kind);
  if (warmedBy !== undefined) return { language, warmedBy };
  return { language, warmedBy: null, because: pool.whyNot(runtime, kind) ?? 'It could not be made ready.' };
}
