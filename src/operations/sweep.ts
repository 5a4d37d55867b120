/** What crashed processes of ours left behind. */
import type { LoadedSettings } from '../config/index.ts';
import { loadRuntime, RUNTIME_NAMES } from '../runtimes/registry.ts';
import { runtimeOptions } from './context.ts';

export interface Swept {
  /** How much was removed, by the runtime. */
  readonly removed: Readonly<Record<string, number>>;
  /** What could not be swept, which keeps the others from nothing. */
  readonly failures: readonly unknown[];
}

/** Removes it, and nothing else, for every runtime; never rejects. */
export async function sweepRuntimes(loaded: Pick<LoadedSettings, 'settings'>): Promise<Swept> {
  const options = runtimeOptions(loaded);
  const removed: Record<string, number> = {};
  const failures: unknown[] = [];
  for (const name of RUNTIME_NAMES) {
    try {
      removed[name] = (await (await loadRuntime(name, options)).sweep?.()) ?? 0;
    } catch (error) {
      failures.push(error);
    }
  }
  return { removed, failures };
}
