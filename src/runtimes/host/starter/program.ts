import { PROGRAMS } from './programs.ts';

/** The starter for a machine, as `process.arch` names it; `starter.c` tells what it does. Undefined where there is none. */
export function starterProgram(machine: string): Uint8Array | undefined {
  return isKnown(machine) ? Buffer.from(PROGRAMS[machine], 'base64') : undefined;
}

function isKnown(machine: string): machine is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, machine);
}
