/** The runtimes under test, in one list: every suite that runs on all of them takes them from here. */
import type { IsolationLevel } from '../../src/policy/isolation.ts';
import { DEFAULT_DOCKER_SETTINGS, type DockerSettings } from '../../src/runtimes/docker/settings.ts';
import type { InterpreterSettings } from '../../src/runtimes/host/interpreters.ts';
import { loadRuntime, type RuntimeOptions } from '../../src/runtimes/registry.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';

export interface RuntimeUnderTest {
  /** As the titles of tests say it. */
  readonly name: string;
  /** As `REQUIRED_RUNTIMES` says it. */
  readonly requiredAs: string;
  /** What it must turn out to be: a runtime that was loaded with other options than these is none of ours. */
  readonly isolation: IsolationLevel;
  /** A new one each time, which has not swept yet. */
  load(): Promise<Runtime>;
}

export const RUNTIMES_UNDER_TEST: readonly RuntimeUnderTest[] = [
  underTest('bubblewrap', 'bubblewrap', 'namespace', 'bubblewrap'),
  underTest('local with namespaces', 'local', 'namespace', 'local', { localIsolation: 'namespace' }),
  underTest('local as a plain process', 'local', 'process', 'local', { localIsolation: 'none' }),
  underTest('docker', 'docker', 'container', 'docker', { docker: container() }),
  underTest('gvisor', 'gvisor', 'kernel', 'gvisor'),
  underTest('docker with runsc', 'docker-runsc', 'kernel', 'docker', {
    docker: { ...container(), runtime: 'runsc' },
  }),
];

function underTest(
  name: string,
  requiredAs: string,
  isolation: IsolationLevel,
  runtime: string,
  options: RuntimeOptions = {},
): RuntimeUnderTest {
  const all = { interpreters: interpreters(), ...options };
  return { name, requiredAs, isolation, load: () => loadRuntime(runtime, all) };
}

/** The host's interpreters that the settings name, so that they can be made the very ones of an image. */
export function interpreters(): InterpreterSettings {
  const { SANDBOX_PYTHON: python, SANDBOX_NODE: javascript, SANDBOX_BASH: shell } = process.env;
  return {
    ...(python === undefined ? {} : { python }),
    ...(javascript === undefined ? {} : { javascript }),
    ...(shell === undefined ? {} : { shell }),
  };
}

/** Containers as they are where nobody set anything but, perhaps, their image. */
function container(): DockerSettings {
  const { DOCKER_IMAGE: image } = process.env;
  return { ...DEFAULT_DOCKER_SETTINGS, ...(image === undefined ? {} : { image }) };
}
