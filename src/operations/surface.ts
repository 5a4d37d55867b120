import type { LoadedSettings, Settings } from '../config/index.ts';

/** Through what somebody asks. */
export type Surface = 'library' | 'cli' | 'batch' | 'mcp' | 'http' | 'agent';

/**
 * Whether whoever asks is a model, or somebody at the other end of a network: what such a caller asks for only tightens
 * what the operator has set. The library and the command line are called by the operator.
 */
export function onlyTightens(surface: Surface): boolean {
  return surface === 'mcp' || surface === 'http' || surface === 'agent';
}

/** What holds where a model asks and the operator has set nothing. */
const FOR_MODELS: Partial<Settings> = { minIsolation: 'namespace', audit: 'on', gate: 'ask-on-danger' };

/** What holds for many programs that nobody has looked at, where the operator has set nothing. */
const FOR_BATCHES: Partial<Settings> = { minIsolation: 'namespace' };

/** The defaults of a surface that differ from the usual ones. */
export function defaultsOf(surface: Surface): Partial<Settings> {
  if (surface === 'batch') return FOR_BATCHES;
  return onlyTightens(surface) ? FOR_MODELS : {};
}

/**
 * The settings as they hold for the surface: whoever asks for a plain process by name (`SANDBOX_LOCAL_ISOLATION=none`) has
 * lowered what a batch asks for by default. Pure.
 */
export function settledFor<Loaded extends Pick<LoadedSettings, 'settings' | 'origins'>>(
  surface: Surface,
  loaded: Loaded,
): Loaded {
  const { settings, origins } = loaded;
  const isLowered = settings.localIsolation === 'none' && origins.minIsolation.kind === 'default';
  if (surface !== 'batch' || !isLowered) return loaded;
  const { minIsolation: _default, ...others } = settings;
  return { ...loaded, settings: others };
}
