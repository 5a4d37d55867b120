import type { Settings } from '../config/index.ts';

/** Through what somebody asks. */
export type Surface = 'library' | 'cli' | 'mcp' | 'http' | 'agent';

/**
 * Whether whoever asks is a model, or somebody at the other end of a network: what such a caller asks for only tightens
 * what the operator has set. The library and the command line are called by the operator.
 */
export function onlyTightens(surface: Surface): boolean {
  return surface === 'mcp' || surface === 'http' || surface === 'agent';
}

/** What holds where a model asks and the operator has set nothing. */
const FOR_MODELS: Partial<Settings> = { minIsolation: 'namespace', audit: 'on', gate: 'ask-on-danger' };

/** The defaults of a surface that differ from the usual ones. */
export function defaultsOf(surface: Surface): Partial<Settings> {
  return onlyTightens(surface) ? FOR_MODELS : {};
}
