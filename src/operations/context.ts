import { describeOrigin, type LoadedSettings, type LoadOptions, loadSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import type { InterpreterSettings } from '../runtimes/host/interpreters.ts';
import { loadRuntime, type RuntimeOptions } from '../runtimes/registry.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** What every operation needs: the settings, and how to get the runtimes that they name. */
export interface Context {
  readonly loaded: LoadedSettings;
  /** The runtime that is wanted. */
  readonly runtimeName: string;
  readonly runtime: () => Promise<Runtime>;
  readonly fallback: (() => Promise<Runtime>) | undefined;
}

export interface ContextOptions extends LoadOptions {
  /** A runtime's name, or a runtime of one's own; the setting `SANDBOX_TYPE` otherwise. */
  readonly runtime?: string | Runtime;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
}

/** Reads the settings once. Throws `CONFIG_INVALID`, or `POLICY_DENIED` when they switch everything off. */
export async function createContext({
  runtime,
  trustEarlierTrial = false,
  ...options
}: ContextOptions): Promise<Context> {
  const loaded = await loadSettings(options);
  const { settings } = loaded;
  if (!settings.enabled) {
    throw new SandboxError('POLICY_DENIED', 'The settings switch every run off (enabled: false).', {
      hint: 'Run: glovebox config explain, to see where that is set.',
    });
  }
  const runtimeOptions: RuntimeOptions = {
    interpreters: interpreterSettings(loaded),
    localIsolation: settings.localIsolation,
    trustEarlierTrial,
  };
  const get = (name: string, key?: 'type' | 'fallback'): (() => Promise<Runtime>) => {
    let made: Promise<Runtime> | undefined;
    return () => {
      made ??= loadRuntime(name, runtimeOptions, key && describeOrigin(loaded.origins[key]));
      return made;
    };
  };
  return {
    loaded,
    runtimeName: typeof runtime === 'object' ? runtime.name : (runtime ?? settings.type),
    runtime:
      typeof runtime === 'object'
        ? async () => runtime
        : runtime === undefined
          ? get(settings.type, 'type')
          : get(runtime),
    fallback: settings.fallback === undefined ? undefined : get(settings.fallback, 'fallback'),
  };
}

/** The interpreters that the settings name. */
export function interpreterSettings({
  settings: { python, node, bash },
}: LoadedSettings): InterpreterSettings {
  return {
    ...(python === undefined ? {} : { python }),
    ...(node === undefined ? {} : { javascript: node }),
    ...(bash === undefined ? {} : { shell: bash }),
  };
}
