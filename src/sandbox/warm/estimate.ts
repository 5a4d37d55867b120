import type { LanguageName } from '../../languages/language.ts';

/** Of one idle guest in MB, all its processes, proportional set size, rounded up from what was measured on Linux. */
const BY_RUNTIME: Readonly<Record<string, number>> = { gvisor: 22, docker: 7 };

const BY_LANGUAGE: Readonly<Record<LanguageName, number>> = { python: 4, javascript: 9, shell: 2 };

/** For what each module that is loaded beforehand adds; most share it with the server that they were forked from. */
const EACH_MODULE_MB = 2;

/** What one guest that waits is taken to use, in MB. Pure; a runtime of somebody else's counts like a container. */
export function estimatedMb(runtime: string, language: LanguageName, preload: readonly string[]): number {
  const isProcess = runtime === 'local' || runtime === 'bubblewrap';
  const around = isProcess ? 0 : (BY_RUNTIME[runtime] ?? 7);
  return Math.max(around, BY_LANGUAGE[language]) + EACH_MODULE_MB * preload.length;
}
