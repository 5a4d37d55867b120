import type { Row } from '../row.ts';
import { comparison } from './comparison.ts';
import { BARE_PYTHON, PYTHON } from './programs.ts';

/** One program in a sandbox that is made for it then, and is gone afterwards. */
export const COLD_ROWS: readonly Row[] = [
  comparison({
    name: 'local.python.cold',
    what: 'print(1) as a plain process (local_isolation none), made for it and removed.',
    sandbox: { runtime: 'local', warm: false, settings: { local_isolation: 'none' } },
    program: PYTHON,
    baseline: BARE_PYTHON,
  }),
  ...(['bubblewrap', 'gvisor', 'docker'] as const).map((runtime) =>
    comparison({
      name: `${runtime}.python.cold`,
      what: 'print(1) in a sandbox that is made for it and removed.',
      sandbox: { runtime, warm: false },
      program: PYTHON,
      baseline: BARE_PYTHON,
    }),
  ),
];
