import { PROGRAMS } from './programs.ts';

/** The first process of a sandbox for this machine; `init.c` tells what it does. Undefined where there is none. */
export function initProgram(architecture: NodeJS.Architecture): Uint8Array | undefined {
  return isKnown(architecture) ? Buffer.from(PROGRAMS[architecture], 'base64') : undefined;
}

function isKnown(architecture: NodeJS.Architecture): architecture is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, architecture);
}

/** What it reads before it starts the program: whom the program runs as, and its seccomp filter. */
export function initSettings(
  user: { readonly uid: number; readonly gid: number },
  filter: Uint8Array,
): Uint8Array {
  const ids = Buffer.alloc(8);
  ids.writeUInt32LE(user.uid, 0);
  ids.writeUInt32LE(user.gid, 4);
  return Buffer.concat([ids, filter]);
}
