import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../language.ts';
import { JAVASCRIPT_KERNEL, PYTHON_KERNEL, SHELL_KERNEL } from './sources.ts';

/** One cell for a kernel. */
export interface Cell {
  /** Starts every frame of the answer; lower-case hexadecimal digits. */
  readonly token: string;
  /** How many cells there have been, with this one. */
  readonly count: number;
  readonly code: string;
  readonly maxResultBytes: number;
}

/** The program that runs the cells of one language, inside the sandbox. */
export interface Kernel {
  /** The interpreters that it needs, the first one for the cells. */
  readonly needs: readonly [LanguageName, ...LanguageName[]];
  /** The command that starts it, with the paths of those; `id` is a name for what it keeps in the temporary folder. */
  command(paths: readonly string[], temporary: string, id: string): readonly [string, ...string[]];
  /** What it reads first, and answers once it is ready. */
  hello(token: string): string;
  /** What it reads for a cell. Throws `INPUT_INVALID` for code that cannot be handed over. */
  request(cell: Cell): Promise<string>;
  /** What it is told beside the signal, when a cell is interrupted. */
  interrupt?(token: string): string;
}

/** Gives the kernel a name, by which it knows its own frames in a traceback. */
const NAMED = 'import sys; exec(compile(sys.argv.pop(), "<glovebox>", "exec"))';

export const KERNELS: Readonly<Record<LanguageName, Kernel>> = {
  python: {
    needs: ['python'],
    // -u: what was printed before a kill is not lost in a buffer. -B: imports leave no __pycache__ behind.
    command: ([python = '']) => [python, '-u', '-B', '-c', NAMED, PYTHON_KERNEL],
    hello: (token) => line({ token }),
    request: async (cell) => line(cell),
  },
  javascript: {
    needs: ['javascript', 'shell'],
    // Only a shell can make copies of descriptors; Node.js then keeps them from whatever it starts.
    command: ([node = '', shell = '']) => [
      shell,
      ...['-c', 'exec "$@" 3<&0 4>&1 5>&2 </dev/null', 'glovebox'],
      // Without the check, what an interrupt ends in a timer does not end the whole process.
      ...[node, '--no-force-async-hooks-checks', '--input-type=module', '-e', JAVASCRIPT_KERNEL],
    ],
    hello: (token) => line({ token }),
    request: async ({ code, ...cell }) => {
      // The parser is loaded only for who needs it.
      const { rewriteCell } = await import('../javascriptCell.ts');
      return line({ ...cell, ...rewriteCell(code) });
    },
    interrupt: (token) => line({ interrupt: token }),
  },
  shell: {
    needs: ['shell'],
    command: ([bash = ''], temporary, id) => [
      bash,
      ...['-c', SHELL_KERNEL],
      ...['bash', 'above', `${temporary}/.glovebox-shell-${id}`],
    ],
    hello: (token) => `${token} 0 hello\n`,
    request: async ({ token, count, code }) => {
      if (code.includes('\0')) {
        throw new SandboxError('INPUT_INVALID', 'The code holds a NUL character, which no shell can read.', {
          hint: 'Write it as an escape, such as \\0 in printf.',
        });
      }
      return `${token} ${count} ${Buffer.byteLength(code)}\n${code}`;
    },
  },
};

function line(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
