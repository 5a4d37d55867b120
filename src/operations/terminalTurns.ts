import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadOptions, stateFolder } from '../config/index.ts';
import { TerminalTurns } from '../gate/approval/terminalTurns.ts';

/** The turns of all processes of this user at their terminals; among temporary files where the user has no home. */
export function terminalTurns(surroundings: Pick<LoadOptions, 'env' | 'homeDir'> = {}): TerminalTurns {
  const state = stateFolder(surroundings) ?? join(tmpdir(), `glovebox-terminals-${process.getuid?.() ?? 0}`);
  return new TerminalTurns(join(state, 'terminals'));
}
