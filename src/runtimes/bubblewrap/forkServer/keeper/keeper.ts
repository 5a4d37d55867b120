/** What makes the keeper of a program: see keeper.c. */
import { builtFor } from '../../../builtFor.ts';
import { CODE } from './programs.ts';

/** The function, to be called at whatever address it is put; empty where there is none for this machine. */
export function keeperCode(architecture: NodeJS.Architecture = process.arch): Buffer {
  return builtFor(CODE, architecture) ?? Buffer.alloc(0);
}
