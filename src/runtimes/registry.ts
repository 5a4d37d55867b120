import { SandboxError } from '../errors.ts';
import type { DockerSettings } from './docker/settings.ts';
import type { GvisorSettings } from './gvisor/settings.ts';
import type { InterpreterSettings } from './host/interpreters.ts';
import type { LocalIsolation } from './local/index.ts';
import type { Runtime } from './runtime.ts';

/** What the built-in runtimes take from the settings. */
export interface RuntimeOptions {
  readonly interpreters?: InterpreterSettings;
  readonly localIsolation?: LocalIsolation;
  readonly docker?: DockerSettings;
  readonly gvisor?: GvisorSettings;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
}

/** Name to driver; each is loaded when it is chosen and not before, and gets what it knows of the options. */
const BUILT_IN: Readonly<Record<string, (options: RuntimeOptions) => Promise<Runtime>>> = {
  local: async ({ localIsolation = 'auto', ...options }) =>
    (await import('./local/index.ts')).local({ ...hostOptions(options), isolation: localIsolation }),
  bubblewrap: async (options) => (await import('./bubblewrap/index.ts')).bubblewrap(hostOptions(options)),
  docker: async (options) => engineContainer('docker', options),
  gvisor: async (options) => {
    if (!isEngineContainer('gvisor', options.docker?.runtime)) {
      return (await import('./gvisor/index.ts')).gvisor({ ...hostOptions(options), ...options.gvisor });
    }
    refuseRoot(options);
    return engineContainer('gvisor', options);
  },
};

/** Containers of an engine have their image as their root. */
function refuseRoot({ gvisor, docker }: RuntimeOptions): void {
  if (gvisor?.root === undefined) return;
  throw new SandboxError(
    'CONFIG_INVALID',
    `gvisor_root (GVISOR_ROOT) is ${JSON.stringify(gvisor.root)}, but with docker_runtime (DOCKER_RUNTIME) ${JSON.stringify(docker?.runtime)} the runtime "gvisor" makes containers, whose root is an image.`,
    {
      hint: 'Remove one of the two: gvisor_root is for gVisor without an engine.',
      details: { root: gvisor.root },
    },
  );
}

function hostOptions({ interpreters, trustEarlierTrial }: RuntimeOptions) {
  return {
    ...(interpreters === undefined ? {} : { interpreters }),
    ...(trustEarlierTrial === undefined ? {} : { trustEarlierTrial }),
  };
}

async function engineContainer(
  name: string,
  { docker, trustEarlierTrial = false }: RuntimeOptions,
): Promise<Runtime> {
  return (await import('./docker/index.ts')).docker({ ...docker, name, trustEarlierTrial });
}

/** True where the runtime of this name is a container of an engine: `docker`, or gVisor as the engine's runtime. */
export function isEngineContainer(name: string, engineRuntime: string | undefined): boolean {
  return name === 'docker' || (name === 'gvisor' && /runsc|gvisor/.test(engineRuntime ?? ''));
}

/** Runtimes that the settings know and that this version does not have. */
const NOT_YET = ['microsandbox', 'e2b', 'kubernetes', 'wasm'];

/** The names that can be chosen. */
export const RUNTIME_NAMES: readonly string[] = Object.keys(BUILT_IN);

/** Loads a built-in runtime; `origin` says in errors who named it. Throws `RUNTIME_UNKNOWN` or `RUNTIME_UNAVAILABLE`. */
export async function loadRuntime(
  name: string,
  options: RuntimeOptions = {},
  origin?: string,
): Promise<Runtime> {
  const load = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
  if (load !== undefined) return load(options);
  const namedBy = origin === undefined ? '' : ` (${origin})`;
  const hint = `Use one of: ${RUNTIME_NAMES.join(', ')}.`;
  if (NOT_YET.includes(name)) {
    throw new SandboxError(
      'RUNTIME_UNAVAILABLE',
      `This version does not have the runtime "${name}"${namedBy}.`,
      {
        hint,
        details: { name },
      },
    );
  }
  throw new SandboxError('RUNTIME_UNKNOWN', `There is no runtime called ${JSON.stringify(name)}${namedBy}.`, {
    hint,
    details: { name },
  });
}
