/** Writes the scripts of waiting interpreters into a module, so that the built package finds them: npx tsx scripts/embed-waiting.ts */
import { readFileSync, writeFileSync } from 'node:fs';

const FOLDER = new URL('../src/languages/waiting/', import.meta.url);

/** The module that holds their texts. */
export function embeddedWaiting(): string {
  const text = (file: string): string => JSON.stringify(readFileSync(new URL(file, FOLDER), 'utf8'));
  return `// Written by scripts/embed-waiting.ts from the files beside it; not by hand.
// biome-ignore-all format: the files are what people read
// biome-ignore-all lint: the files are what is checked
export const PYTHON_BECOME_MAIN = ${text('becomeMain.py')};
export const PYTHON_WAIT_FOR_ORDERS = ${text('waitForOrders.py')};
`;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  writeFileSync(new URL('sources.ts', FOLDER), embeddedWaiting());
}
