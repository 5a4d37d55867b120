import { describeOrigin, type LoadedSettings, type LoadOptions, loadSettings } from '../config/index.ts';
import { SandboxError } from '../errors.ts';
import type { Gate } from '../gate/approval/gate.ts';
import type { Approver } from '../gate/approval/question.ts';
import type { Fallback } from '../runtimes/choose.ts';
import { loadRuntime, type RuntimeOptions } from '../runtimes/registry.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { openOversight } from './oversight/open.ts';
import type { Oversight } from './oversight/oversight.ts';
import { Registries } from './registries.ts';
import { defaultsOf, type Surface, settledFor } from './surface.ts';
import type { Warmth } from './warmth.ts';

/** What every operation needs: the settings, and how to get the runtimes that they name. */
export interface Context {
  readonly loaded: LoadedSettings;
  /** Through what is asked: it decides whether options may loosen what the settings say. */
  readonly surface: Surface;
  /** The runtime that is wanted. */
  readonly runtimeName: string;
  readonly runtime: () => Promise<Runtime>;
  readonly fallback: Fallback | undefined;
  /** Where packages come from. */
  readonly registries: Registries;
  /** Absent where nothing is recorded and nobody is asked. */
  readonly oversight: Oversight | undefined;
  /** The id that the execution which is asked for at the moment shall have; one of its own otherwise. */
  readonly executionId?: () => string | undefined;
  /** Sandboxes that are kept ready; absent where each is started for its execution. */
  readonly warmth?: Warmth;
}

export interface ContextOptions extends LoadOptions {
  /** A runtime's name, or a runtime of one's own; the setting `SANDBOX_TYPE` otherwise. */
  readonly runtime?: string | Runtime;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
  /** Through what is asked; the library otherwise. */
  readonly surface?: Surface;
  /** Decides what may be done, instead of the gate that the settings ask for. */
  readonly gate?: Gate;
  /** Ways to a person besides `glovebox approvals`, where the settings ask for a gate. */
  readonly approvers?: readonly Approver[];
  /** For whom is asked at the moment, where this process asks for others: they can find their own questions by it. */
  readonly caller?: () => string | undefined;
  /** See `Context`; for whoever has to name an execution before it begins. */
  readonly executionId?: () => string | undefined;
  /** Who asks at the moment, by a name that is recorded and shown, where this process serves more than one. */
  readonly askedBy?: () => string | undefined;
  /**
   * Seconds that a caller waits for a person, where a gate asks: after them, what was asked for throws
   * `APPROVAL_PENDING`, and asking for the same again goes on with the same question. Without it, until its deadline.
   */
  readonly patienceSec?: number;
  /** Told when a person is asked about what is asked for at the moment; what it returns is called when that is over. */
  readonly onQuestion?: () => () => void;
}

/** Reads the settings once. Throws `CONFIG_INVALID`, or `POLICY_DENIED` when they switch everything off. */
export async function createContext({
  runtime,
  trustEarlierTrial = false,
  surface = 'library',
  gate,
  approvers,
  caller,
  executionId,
  askedBy,
  patienceSec,
  onQuestion,
  ...options
}: ContextOptions): Promise<Context> {
  const loaded = settledFor(surface, await loadSettings({ defaults: defaultsOf(surface), ...options }));
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
    ...(executionId === undefined ? {} : { executionId }),
    surface,
    registries: new Registries(settings),
    oversight: await openOversight(
      loaded,
      {
        surface,
        ...(gate === undefined ? {} : { gate }),
        ...(approvers === undefined ? {} : { approvers }),
        ...(caller === undefined ? {} : { caller }),
        ...(askedBy === undefined ? {} : { askedBy }),
        ...(patienceSec === undefined ? {} : { patienceSec }),
        ...(onQuestion === undefined ? {} : { onQuestion }),
      },
      options,
    ),
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
