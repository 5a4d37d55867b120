/** What makes the keeper of a program: see keeper.c. */
import { CODE } from './programs.ts';

/** The function, to be called at whatever address it is put; empty where there is none for this machine. */
export function keeperCode(architecture: NodeJS.Architecture = process.arch): Buffer {
  return Buffer.from(isKnown(architecture) ? CODE[architecture] : '', 'base64');
}

function isKnown(architecture: NodeJS.Architecture): architecture is keyof typeof CODE {
  return Object.hasOwn(CODE, architecture);
}
