/** The programs that rows run, and the same without a sandbox. */
import { bareProcess } from '../bareProcess.ts';
import type { KnownProgram } from '../openSandbox.ts';
import type { Baseline } from './comparison.ts';

export const PYTHON: KnownProgram = { language: 'python', code: 'print(1)', prints: '1\n' };
export const JAVASCRIPT: KnownProgram = { language: 'javascript', code: 'console.log(1)', prints: '1\n' };
export const SHELL: KnownProgram = { language: 'shell', code: 'echo 1', prints: '1\n' };

/** As people use it: a table of a few rows, grouped. */
export const PANDAS: KnownProgram = {
  language: 'python',
  code: `import pandas
table = pandas.DataFrame({"kind": ["a", "b", "a"], "size": [1, 2, 3]})
print(table.groupby("kind")["size"].sum().to_dict())`,
  prints: "{'a': 4, 'b': 2}\n",
};

/** The interpreter that sandboxes use too, started as Node starts a process by itself, with our own environment. */
export const BARE_PYTHON = {
  what: 'bare python3 -c',
  async subject(bench) {
    const python = await bench.interpreter('python');
    return async () => expectOutput(await bareProcess(python, ['-c', PYTHON.code]), PYTHON.prints);
  },
} as const satisfies Baseline;

/** The same for a program that needs pandas, where that is installed. */
export const BARE_PANDAS: Baseline = {
  what: 'bare python3 -c, which imports pandas',
  async subject(bench) {
    const python = await bench.interpreter('python');
    try {
      await bareProcess(python, ['-c', 'import pandas']);
    } catch {
      const fix = 'Name another Python with SANDBOX_PYTHON, or install pandas for this one.';
      return { status: 'skipped', reason: `${python} cannot import pandas.`, fix };
    }
    return async () => expectOutput(await bareProcess(python, ['-c', PANDAS.code]), PANDAS.prints);
  },
};

/** With a clean environment, because one that names certificates costs Node more than its whole start. */
export const BARE_NODE: Baseline = {
  what: 'bare node -e, clean environment',
  async subject(bench) {
    const node = await bench.interpreter('javascript');
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };
    return async () =>
      expectOutput(await bareProcess(node, ['-e', JAVASCRIPT.code], { env }), JAVASCRIPT.prints);
  },
};

export const BARE_BASH: Baseline = {
  what: 'bare bash -c',
  async subject(bench) {
    const bash = await bench.interpreter('shell');
    return async () => expectOutput(await bareProcess(bash, ['-c', SHELL.code]), SHELL.prints);
  },
};

/** Throws when it is not what the program prints, so that no failure is timed as a success. */
export function expectOutput(output: string, prints: string): void {
  if (output !== prints) throw new Error(`It printed ${JSON.stringify(output)}.`);
}
