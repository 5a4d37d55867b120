import { describeOrigin, type LoadedSettings, type LoadOptions, loadSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import type { Fallback } from '../runtimes/choose.ts';
import { loadRuntime, type RuntimeOptions } from '../runtimes/registry.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/** What every operation needs: the settings, and how to get the runtimes that they name. */
export interface Context {
  readonly loaded: LoadedSettings;
  /** The runtime that is wanted. */
  readonly runtimeName: string;
  readonly runtime: () => Promise<Runtime>;
  readonly fallback: Fallback | undefined;
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
  const fromSettings = { ...runtimeOptions(loaded), trustEarlierTrial };
  const get = (name: string, key?: 'type' | 'fallback'): (() => Promise<Runtime>) => {
    let made: Promise<Runtime> | undefined;
    return () => {
      made ??= loadRuntime(name, fromSettings, key && describeOrigin(loaded.origins[key]));
      return made;
    };
  };
  const runtimeName = typeof runtime === 'object' ? runtime.name : (runtime ?? settings.type);
  return {
    loaded,
    runtimeName,
    runtime:
      typeof runtime === 'object'
        ? async () => runtime
        : runtime === undefined
          ? get(settings.type, 'type')
          : get(runtime),
    fallback:
      settings.fallback === undefined
        ? undefined
        : { insteadOf: runtimeName, load: get(settings.fallback, 'fallback') },
  };
}

/** What the built-in runtimes take from the settings. Pure. */
export function runtimeOptions({ settings }: Pick<LoadedSettings, 'settings'>): RuntimeOptions {
  const { python, node, bash, pythonImage, javascriptImage, shellImage } = settings;
  const { dockerRuntime, dockerSeccompProfile, gvisorRoot } = settings;
  return {
    interpreters: {
      ...(python === undefined ? {} : { python }),
      ...(node === undefined ? {} : { javascript: node }),
      ...(bash === undefined ? {} : { shell: bash }),
    },
    localIsolation: settings.localIsolation,
    docker: {
      image: settings.dockerImage,
      images: {
        ...(pythonImage === undefined ? {} : { python: pythonImage }),
        ...(javascriptImage === undefined ? {} : { javascript: javascriptImage }),
        ...(shellImage === undefined ? {} : { shell: shellImage }),
      },
      ...(dockerRuntime === undefined ? {} : { runtime: dockerRuntime }),
      ...(dockerSeccompProfile === undefined ? {} : { seccompProfile: dockerSeccompProfile }),
      securityOpt: settings.dockerSecurityOpt ?? [],
    },
    gvisor: gvisorRoot === undefined ? {} : { root: gvisorRoot },
  };
}
