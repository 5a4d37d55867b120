import type { Language } from './language.ts';

/** Prints the fields that `describe` promises, each ended by a NUL. */
const DESCRIBE = `
import sys
print(*[sys.executable, sys.version.split()[0], sys.prefix, sys.base_prefix, sys.exec_prefix], sep='\\0')
`;

export const python: Language = {
  name: 'python',
  aliases: ['py', 'python3'],
  extensions: ['.py'],
  fileName: 'main.py',
  // -u: what was printed before a kill is not lost in a buffer. -B: imports leave no __pycache__ behind.
  command: (interpreter, file, args) => [interpreter, '-u', '-B', file, ...args],
  host: {
    candidates: ['python3', 'python'],
    variable: 'SANDBOX_PYTHON',
    install: 'Install Python 3 (apt-get install python3), or name one with SANDBOX_PYTHON.',
    describe: ['-I', '-c', DESCRIBE],
  },
};
