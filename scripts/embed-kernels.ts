/** Writes the kernels of contexts into a module, so that the built package finds them: npx tsx scripts/embed-kernels.ts */
import { readFileSync, writeFileSync } from 'node:fs';

const FOLDER = new URL('../src/languages/kernels/', import.meta.url);

/** The module that holds the texts of the kernels. */
export function embeddedKernels(): string {
  const text = (file: string): string => JSON.stringify(readFileSync(new URL(file, FOLDER), 'utf8'));
  return `// Written by scripts/embed-kernels.ts from the files beside it; not by hand.
// biome-ignore-all format: the files are what people read
// biome-ignore-all lint: the files are what is checked
export const PYTHON_KERNEL = ${text('python.py')};
export const JAVASCRIPT_KERNEL = ${text('javascript.mjs')};
export const SHELL_KERNEL = ${text('shell.bash')};
`;
}

const WAITING = new URL('../src/languages/waiting/', import.meta.url);

/** The module that holds what a waiting Python becomes its program with. */
export function embeddedBecomeMain(): string {
  return `// Written by scripts/embed-kernels.ts from becomeMain.py; not by hand.
// biome-ignore-all format: the files are what people read
// biome-ignore-all lint: the files are what is checked
export const BECOME_MAIN = ${JSON.stringify(readFileSync(new URL('becomeMain.py', WAITING), 'utf8'))};
`;
}

/** The module that holds what makes an interpreter wait. */
export function embeddedWaiting(): string {
  const text = (file: string): string => JSON.stringify(readFileSync(new URL(file, WAITING), 'utf8'));
  return `// Written by scripts/embed-kernels.ts from the files beside it; not by hand.
// biome-ignore-all format: the files are what people read
// biome-ignore-all lint: the files are what is checked
export const WAITING_PYTHON = ${text('waiting.py')};
export const WAITING_NODE = ${text('waiting.cjs')};
export const WAITING_SHELL = ${text('waiting.bash')};
`;
}

const FORK_SERVER = new URL('../src/runtimes/bubblewrap/forkServer/', import.meta.url);

/** The module that holds the fork server; it needs the text of `embeddedBecomeMain` before it. */
export function embeddedForkServer(): string {
  return `// Written by scripts/embed-kernels.ts from forkServer.py; not by hand.
// biome-ignore-all format: the files are what people read
// biome-ignore-all lint: the files are what is checked
export const FORK_SERVER = ${JSON.stringify(readFileSync(new URL('forkServer.py', FORK_SERVER), 'utf8'))};
`;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  writeFileSync(new URL('sources.ts', FOLDER), embeddedKernels());
  writeFileSync(new URL('becomeMain.ts', WAITING), embeddedBecomeMain());
  writeFileSync(new URL('scripts.ts', WAITING), embeddedWaiting());
  writeFileSync(new URL('sources.ts', FORK_SERVER), embeddedForkServer());
}
