import { builtFor } from '../../builtFor.ts';
import { PROGRAMS } from './programs.ts';

/** The first process of a sandbox for this machine; `init.c` tells what it does. Undefined where there is none. */
export function initProgram(architecture: NodeJS.Architecture): Uint8Array | undefined {
  return builtFor(PROGRAMS, architecture);
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

/** How a first process starts its program. */
export interface InitWish {
  /** The file that gets the status in the end; none by default. */
  readonly report?: string;
  /** The file with what {@link initSettings} makes; without one it already is what the program shall be. */
  readonly settings?: string;
  /** Whether the output comes in frames, see `FramedSource`. */
  readonly frames?: boolean;
  readonly relay?: InitRelay | undefined;
}

/** The arguments of the first process, up to the program's own. Pure. */
export function initArguments({ report = '', settings = '', frames = false, relay }: InitWish): string[] {
  const ofRelay = relay && [relay.program, String(relay.port), relay.input, relay.output];
  return [report, settings, frames ? 'frames' : '', ...(ofRelay ?? ['', '', '', ''])];
}
