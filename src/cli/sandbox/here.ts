/** What the caller's environment says about where background processes are and what they get. */
import { hostFolder } from '../sandboxHost/folder.ts';
import { settingsOf, surroundingsOf } from '../sandboxHost/surroundings.ts';

/** Where this user's background processes are. */
export function folder(): string {
  return hostFolder(process.env['XDG_RUNTIME_DIR']);
}

/** What the settings of a sandbox are read from. */
export function settings(): Record<string, string> {
  return settingsOf(process.env);
}

/** The complete environment of a background process. */
export function surroundings(): Record<string, string> {
  return surroundingsOf(process.env);
}
