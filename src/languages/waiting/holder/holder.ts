/** What lets an interpreter end without waiting until its memory is taken apart: see holder.c. */
import { CODE, SHARED_OBJECTS } from './programs.ts';

/** The function, to be called at whatever address it is put; empty where there is none for this machine. */
export function holderCode(architecture: NodeJS.Architecture = process.arch): Buffer {
  return Buffer.from(isKnown(architecture) ? CODE[architecture] : '', 'base64');
}

/** The shared object that calls it when it is loaded, in base64; empty where there is none for this machine. */
export function holderObject(architecture: NodeJS.Architecture = process.arch): string {
  return isKnown(architecture) ? SHARED_OBJECTS[architecture] : '';
}

function isKnown(architecture: NodeJS.Architecture): architecture is keyof typeof CODE {
  return Object.hasOwn(CODE, architecture);
}
