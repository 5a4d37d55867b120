import type { Guest } from '../runtimes/runtime.ts';

/** Where pip and npm put commands of packages that are installed in the workspace. */
const COMMANDS = ['.local/bin', 'node_modules/.bin'];

/**
 * The variables that a program of a sandbox starts from. Commands of installed packages are found after all others, so
 * that none of them can stand in for another.
 */
export function programEnvironment({
  environment,
  workspace,
}: Pick<Guest, 'environment' | 'workspace'>): Record<string, string> {
  const folders = COMMANDS.map((folder) => `${workspace}/${folder}`);
  return { ...environment, PATH: [environment['PATH'] ?? '', ...folders].filter(Boolean).join(':') };
}
