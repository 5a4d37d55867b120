import { bareProcess } from '../bareProcess.ts';
import { compare, timePairs } from '../pairs.ts';
import type { Row } from '../row.ts';
import { BARE_PYTHON, expectOutput, PYTHON } from './programs.ts';

/** Our own start counts here, beside what Node and Python take to start one after the other. */
export const COMMAND_LINE_ROW: Row = {
  name: 'cli.python.cold',
  what: 'glovebox run -c "print(1)" with the usual runtime, from its start to its end.',
  unit: 'ms',
  async measure(bench) {
    const { pairs, progress, signal, folder, program } = bench;
    const python = await BARE_PYTHON.subject(bench);
    const options = { cwd: folder };
    const compared = compare(
      await timePairs({
        ...{ pairs, progress, signal },
        ours: async () => {
          const args = [...process.execArgv, program, 'run', '-c', PYTHON.code];
          expectOutput(await bareProcess(process.execPath, args, options), PYTHON.prints);
        },
        baseline: async () => {
          await bareProcess(process.execPath, ['-e', '0'], options);
          await python();
        },
      }),
    );
    const what = `node -e 0, then ${BARE_PYTHON.what}`;
    return { status: 'measured', ...compared, baseline: { ...compared.baseline, what } };
  },
};
