import type { Row } from '../row.ts';
import { comparison } from './comparison.ts';
import {
  BARE_BASH,
  BARE_NODE,
  BARE_PANDAS,
  BARE_PYTHON,
  JAVASCRIPT,
  PANDAS,
  PYTHON,
  SHELL,
} from './programs.ts';

/** How much the host program holds in `large_host`. */
const LARGE_MB = 1024;

/** One program in a sandbox in which an interpreter waits for it; each is used once. */
export const WARM_ROWS: readonly Row[] = [
  ...(['local', 'bubblewrap', 'gvisor', 'docker'] as const).map((runtime) =>
    comparison({
      name: `${runtime}.python.warm`,
      what: 'print(1) in a sandbox that waits with its interpreter, and is used this once.',
      sandbox: { runtime, warm: true },
      program: PYTHON,
      baseline: BARE_PYTHON,
    }),
  ),
  comparison({
    name: 'bubblewrap.javascript.warm',
    what: 'console.log(1) in a sandbox that waits with its interpreter, and is used this once.',
    sandbox: { runtime: 'bubblewrap', warm: true },
    program: JAVASCRIPT,
    baseline: BARE_NODE,
  }),
  comparison({
    name: 'bubblewrap.shell.warm',
    what: 'echo 1 in a sandbox that waits with its interpreter, and is used this once.',
    sandbox: { runtime: 'bubblewrap', warm: true },
    program: SHELL,
    baseline: BARE_BASH,
  }),
  comparison({
    name: 'bubblewrap.python.pandas.warm',
    what: 'A small table grouped with pandas, which the waiting interpreter has imported (preload).',
    sandbox: { runtime: 'bubblewrap', warm: true, preload: ['pandas'] },
    program: PANDAS,
    baseline: BARE_PANDAS,
  }),
  {
    name: 'bubblewrap.python.warm.large_host',
    what: `bubblewrap.python.warm, asked for by a program that holds ${LARGE_MB} MB, half of it objects and half of it buffers.`,
    unit: 'ms',
    measure: (bench) => bench.inLargeProcess('bubblewrap.python.warm', LARGE_MB),
  },
];
