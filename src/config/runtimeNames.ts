import type { IsolationLevel } from '../policy/isolation.ts';

/** The runtimes that a setting may name. */
export const RUNTIME_NAMES = [
  'local',
  'bubblewrap',
  'docker',
  'gvisor',
  'microsandbox',
  'e2b',
  'kubernetes',
  'wasm',
] as const;

export type RuntimeName = (typeof RUNTIME_NAMES)[number];

/** What a runtime promises at least, before any probe: a project file may only move to a stronger one. */
export const RUNTIME_ISOLATION: Readonly<Record<RuntimeName, IsolationLevel>> = {
  local: 'process',
  bubblewrap: 'namespace',
  docker: 'container',
  kubernetes: 'container',
  wasm: 'container',
  gvisor: 'kernel',
  microsandbox: 'machine',
  e2b: 'machine',
};
