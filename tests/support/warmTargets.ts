/** The runtimes that work here, with each program in a warm guest: one for each way in which a program comes to be waited for. */
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';
import { interpreters } from './runtimes.ts';
import { TARGETS, type Target } from './targets.ts';
import { type Waiting, warmed } from './warmed.ts';

/** The runtime, and how a program of it comes to be waited for. */
export const WARM_NAMES = [
  'bubblewrap, forked',
  'bubblewrap, waiting',
  'gvisor, waiting',
  'docker, waiting',
] as const;

export type WarmName = (typeof WARM_NAMES)[number];

export interface WarmTarget extends Target {
  readonly name: WarmName;
  /** The runtime itself, for a pool. */
  readonly pooled: Runtime;
  readonly waiting: Waiting;
}

const EACH_WAITS: Waiting = {
  python: 'waiting_interpreter',
  javascript: 'waiting_interpreter',
  shell: 'waiting_interpreter',
};

const FORKED: Waiting = { python: 'fork_server', javascript: 'fork_server', shell: 'fork_server' };

/** What is missing of them is said by `describeMissing`: they are here where their runtimes are. */
export const WARM_TARGETS: readonly WarmTarget[] = [
  ...warm('bubblewrap, forked', FORKED),
  // As it is where no fork server works.
  ...warm('bubblewrap, waiting', EACH_WAITS, () =>
    bubblewrap({ interpreters: interpreters(), forkServer: false }),
  ),
  ...warm('gvisor, waiting', EACH_WAITS),
  ...warm('docker, waiting', { python: 'waiting_interpreter' }),
];

function warm(name: WarmName, waiting: Waiting, make?: () => Runtime): WarmTarget[] {
  return TARGETS.filter((target) => target.name === name.split(',')[0]).map((target) => {
    const load = make === undefined ? target.loadAgain : async () => make();
    const pooled = make?.() ?? target.runtime;
    return {
      ...{ name, capabilities: target.capabilities, pooled, waiting },
      runtime: warmed(pooled, waiting),
      loadAgain: async () => warmed(await load(), waiting),
    };
  });
}
