import type { InterpreterSettings } from '../host/interpreters.ts';
import type { Runtime } from '../runtime.ts';
import type { GvisorSettings } from './settings.ts';

export interface GvisorOptions extends GvisorSettings {
  readonly interpreters?: InterpreterSettings;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
}

/** Takes the place of the driver until it is here: never available. */
export function gvisor(_options: GvisorOptions = {}): Runtime {
  return {
    name: 'gvisor',
    probe: async () => ({ available: false, reason: 'It is not built yet.', fix: 'Use another runtime.' }),
    create: () => Promise.reject(new Error('gvisor is not built yet.')),
  };
}
