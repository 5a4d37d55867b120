import { builtFor } from '../builtFor.ts';
import { PROGRAMS } from './programs.ts';

/** The relay for a machine, as `process.arch` names it; `relay.c` tells what it does. Undefined where there is none. */
export function relayProgram(machine: string): Uint8Array | undefined {
  return builtFor(PROGRAMS, machine);
}
