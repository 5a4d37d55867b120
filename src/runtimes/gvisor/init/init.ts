import { PROGRAMS } from './programs.ts';

/** The first process of a sandbox for this machine; `init.c` tells what it does. Undefined where there is none. */
export function initProgram(architecture: NodeJS.Architecture): Uint8Array | undefined {
  return isKnown(architecture) ? Buffer.from(PROGRAMS[architecture], 'base64') : undefined;
}

function isKnown(architecture: NodeJS.Architecture): architecture is keyof typeof PROGRAMS {
  return Object.hasOwn(PROGRAMS, architecture);
}

/** What it reads before it starts anything: whom the program and the relay run as, and their seccomp filter. */
export function initSettings(
  users: { readonly program: InsideUser; readonly relay: InsideUser },
  filter: Uint8Array,
): Uint8Array {
  const ids = Buffer.alloc(16);
  [users.program, users.relay].forEach(({ uid, gid }, index) => {
    ids.writeUInt32LE(uid, 8 * index);
    ids.writeUInt32LE(gid, 8 * index + 4);
  });
  return Buffer.concat([ids, filter]);
}

export interface InsideUser {
  readonly uid: number;
  readonly gid: number;
}

/** The relay that it starts before the program, each file by its path inside. */
export interface InitRelay {
  readonly program: string;
  readonly port: number;
  /** Named pipes. */
  readonly input: string;
  readonly output: string;
}

/** The arguments of the first process, up to the program's own. */
export function initArguments(report: string, settings: string, relay: InitRelay | undefined): string[] {
  const ofRelay = relay && [relay.program, String(relay.port), relay.input, relay.output];
  return [report, settings, ...(ofRelay ?? ['', '', '', ''])];
}
