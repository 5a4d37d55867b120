import { PROGRAMS } from './programs.ts';

/** The relay for a machine, as `process.arch` names it; `relay.c` tells what it does. Undefined where there is none. */
export function relayProgram(machine: string): Uint8Array | undefined {
  return isKnown(machine) ? Buffer.from(PROGRAMS[machine], 'base64') : undefined;
}

function isKnown(machine: string): machine is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, machine);
}
