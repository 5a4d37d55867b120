import { builtFor } from '../../builtFor.ts';
import { PROGRAMS } from './programs.ts';

/** The starter for a machine, as `process.arch` names it; `starter.c` tells what it does. Undefined where there is none. */
export function starterProgram(machine: string): Uint8Array | undefined {
  return builtFor(PROGRAMS, machine);
}
