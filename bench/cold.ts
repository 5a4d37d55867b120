/**
 * What a single run costs when nothing was made ready before, as ratios to starting the same interpreter
 * without anything around it. Prints a table; `--json` prints JSON; `--rounds N` (default 100).
 */
import { parseArgs } from 'node:util';
import { getSandbox } from '../src/index.ts';
import { findInterpreter } from '../src/runtimes/host/interpreters.ts';
import { bareSpawn, interleaved, type Row } from './measure.ts';

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '100' } },
});
const rounds = Number(values.rounds);
const PROGRAM = 'print(1)';

process.env['SANDBOX_STORE_CODE'] = 'never';
const { SANDBOX_PYTHON } = process.env;
const python = await findInterpreter('python', SANDBOX_PYTHON ? { python: SANDBOX_PYTHON } : {});

async function sandboxed(runtime: string, isolation: string): Promise<() => Promise<void>> {
  process.env['SANDBOX_LOCAL_ISOLATION'] = isolation;
  const sandbox = getSandbox({ runtime });
  const execute = async (): Promise<void> => {
    const result = await sandbox.execute(PROGRAM);
    if (result.stdout !== '1\n') throw new Error(`${runtime}: ${JSON.stringify(result)}`);
  };
  // The settings are read at the first execution.
  await execute();
  return execute;
}

const library = await interleaved(rounds, 'bare python3 -c', {
  'bare python3 -c': () => bareSpawn(python.path, ['-c', PROGRAM]),
  'local, isolation none': await sandboxed('local', 'none'),
  'local, namespaces': await sandboxed('local', 'namespace'),
  bubblewrap: await sandboxed('bubblewrap', 'namespace'),
});

const cli = new URL('../dist/cli/main.js', import.meta.url).pathname;
const commandLine = await interleaved(rounds, 'node -e 0, then bare python3 -c', {
  'node -e 0, then bare python3 -c': async () => {
    await bareSpawn(process.execPath, ['-e', '0']);
    await bareSpawn(python.path, ['-c', PROGRAM]);
  },
  'glovebox run -c, to first output': () => bareSpawn(process.execPath, [cli, 'run', '-c', PROGRAM], true),
});

/** The ratios that a cold run must keep. */
const TARGETS: Readonly<Record<string, number>> = {
  'local, isolation none': 1.3,
  bubblewrap: 1.8,
  'glovebox run -c, to first output': 2.5,
};

if (values.json) {
  process.stdout.write(`${JSON.stringify({ rounds, python, library, commandLine }, null, 2)}\n`);
} else {
  process.stdout.write(
    `${rounds} rounds, interleaved; ${python.path} ${python.version}, Node ${process.version}\n`,
  );
  for (const row of [...library, ...commandLine]) process.stdout.write(`${line(row)}\n`);
}

function line({ name, medianMs, p95Ms, ratio }: Row): string {
  const target = TARGETS[name];
  const goal = target === undefined ? '' : `  (at most ${target}: ${ratio <= target ? 'kept' : 'MISSED'})`;
  return `${name.padEnd(34)} ${ratio.toFixed(2)} x   median ${medianMs.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms${goal}`;
}
