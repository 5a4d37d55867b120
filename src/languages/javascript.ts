import type { Language } from './language.ts';

export const javascript: Language = {
  name: 'javascript',
  aliases: ['js', 'node', 'mjs', 'nodejs'],
  extensions: ['.mjs', '.js', '.cjs'],
  fileName: 'main.mjs',
  command: (interpreter, file, args) => [interpreter, file, ...args],
  host: {
    candidates: ['node'],
    variable: 'SANDBOX_NODE',
    install: 'Install Node.js (apt-get install nodejs), or name one with SANDBOX_NODE.',
    describe: ['-p', "[process.execPath, process.version.slice(1)].join('\\0')"],
  },
};
