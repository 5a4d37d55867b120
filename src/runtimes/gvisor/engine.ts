import { ask } from '../host/ask.ts';
import type { Missing } from '../host/tools.ts';
import type { Dialect } from './bundle.ts';

/** The programs that build a sandbox, and Debian's packages that have them. */
export const PACKAGES = {
  runsc: 'runsc',
  bash: 'bash',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  mount: 'mount',
} as const;

/** The same by absolute path. */
export type Tools = Readonly<Record<keyof typeof PACKAGES, string>>;

/** What an installed runsc says of itself. */
export interface Engine extends Dialect {
  readonly version: string;
}

/**
 * The platforms that are used, the best first. Not `kvm`: on a virtual machine without virtualisation of its
 * own it hangs for good although its device is there.
 */
const PLATFORMS = ['systrap', 'ptrace'];

/** The release from which on a runsc is not called old: about two years before this was written. */
const RECENT_RELEASE = 20241101;

/** Asks runsc what it can do, or says why it is of no use. */
export async function askEngine(runsc: string): Promise<Engine | Missing> {
  try {
    const [version, platforms, flags] = await Promise.all(
      // Versions differ in where they print their help.
      [['--version'], ['help', 'platforms'], ['flags']].map((args) => ask(runsc, args)),
    );
    return describeEngine(version ?? '', platforms ?? '', flags ?? '');
  } catch (error) {
    return { reason: (error as Error).message, fix: INSTALL };
  }
}

export const INSTALL =
  'Install a current gVisor: apt-get install runsc (Debian; bookworm-backports has that of July 2024), or as gvisor.dev says under Installation.';

/** Reads what runsc printed. Pure. */
export function describeEngine(version: string, platforms: string, flags: string): Engine | Missing {
  const name = /^runsc version (\S+)/m.exec(version)?.[1];
  if (name === undefined) return { reason: `It is not gVisor's runsc: ${version.trim()}`, fix: INSTALL };
  const offered = platforms.split(/\s+/);
  const platform = PLATFORMS.find((candidate) => offered.includes(candidate));
  if (platform === undefined) {
    return {
      reason: `runsc ${name} has no platform that works here: it offers ${offered.filter(Boolean).join(', ') || 'none'}.`,
      fix: INSTALL,
    };
  }
  const names = [...flags.matchAll(/^\s+-(\S+)/gm)].map(([, flag = '']) => flag);
  return { version: name.replace(/^(0\.0~|release-)/, ''), platform, flags: new Set(names) };
}

/** Whether it can be told to open named pipes of the host, by which a relay is reached. Pure. */
export function mayOpenPipes({ flags }: Pick<Engine, 'flags'>): boolean {
  return flags.has('host-fifo');
}

/** What a person should know about this engine. Pure. */
export function engineNotes({ version }: Pick<Engine, 'version'>): string[] {
  const release = Number(/\d{8}/.exec(version)?.[0]);
  if (Number.isNaN(release) || release >= RECENT_RELEASE) return [];
  return [
    `runsc ${version} is old: gVisor mends holes in each release. ${INSTALL.replace('Install a', 'Use a')}`,
  ];
}
