/** Policy to bubblewrap's command line: pure, so that every flag can be pinned by a test. */
import { SandboxError } from '../../errors.ts';
import { INSIDE_ID, STAND_INS, WRITABLE } from '../host/furniture.ts';
import type { HostView } from '../host/hostView.ts';

export interface BubblewrapSpec {
  readonly host: HostView;
  /** Where the sandbox's own file system is mounted in the stage's namespace. */
  readonly stage: string;
  /** Interpreters' folders: where the host has them, and where the program shall see them. */
  readonly prefixes: readonly { readonly source: string; readonly path: string }[];
  /** `inherited`: the one that bubblewrap is started in, which is the host's only where all may be reached. */
  readonly network: 'own' | 'inherited';
  /** Files that name resolution and TLS need; none without an open network. */
  readonly networkFiles: readonly { readonly source: string; readonly path: string }[];
  readonly environment: Readonly<Record<string, string>>;
  readonly statusFd: number;
  readonly seccompFd: number;
}

/** Who is put into a view: a program, or root's or an ordinary user's fork server, which makes more such views. */
export type Inhabitant = 'program' | 'server of root' | 'server of a user';

/** The name of an empty file of ours. */
export const NOTHING = 'nothing';

/**
 * The arguments for `bwrap --args`, without the program's own. A fork server keeps its rights, and a `/proc` without
 * anything over it: only then does the kernel let its children have one of their own.
 */
export function bubblewrapArguments(spec: BubblewrapSpec, inhabitant: Inhabitant = 'program'): string[] {
  const isProgram = inhabitant === 'program';
  const list = [
    ...(isProgram ? apart(spec.network) : apartWithRights(spec.network, inhabitant)),
    ...Object.entries(spec.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...(isProgram ? [] : foldersAbove(spec).flatMap((path) => ['--perms', '0755', '--dir', path])),
    ...spec.host.usr.flatMap(readOnly),
    ...spec.host.roots.flatMap(({ path, link }) =>
      link === undefined ? readOnly(path) : ['--symlink', link, path],
    ),
    ...spec.host.etc.flatMap(readOnly),
    ...Object.entries(STAND_INS).flatMap(([name, { path }]) => ['--ro-bind', `${spec.stage}/${name}`, path]),
    ...spec.networkFiles.flatMap(({ source, path }) => ['--ro-bind', source, path]),
    // Some of /proc/sys belongs to the sandbox's own namespaces, and would be writable.
    ...['--proc', '/proc', ...(isProgram ? ['--ro-bind', '/proc/sys', '/proc/sys'] : []), '--dev', '/dev'],
    ...(isProgram ? spec.host.hiddenProc : []).flatMap((path) => [
      ...['--ro-bind', `${spec.stage}/${NOTHING}`, path],
    ]),
    ...Object.entries(WRITABLE).flatMap(([name, path]) => ['--bind', `${spec.stage}/${name}`, path]),
    ...spec.prefixes.flatMap(({ source, path }) => ['--ro-bind', source, path]),
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', WRITABLE.workspace],
    ...(isProgram ? report(spec) : ['--json-status-fd', String(spec.statusFd)]),
  ];
  // They are handed over with a NUL after each: one inside would begin an argument of its own.
  const split = list.find((argument) => argument.includes('\0'));
  if (split === undefined) return list;
  throw new SandboxError('INPUT_INVALID', 'A variable or a path holds a NUL character.', {
    hint: 'Leave it out.',
  });
}

/** Where the relay's program is inside: there is nothing else there. */
export const RELAY_PATH = '/relay';

export type RelaySpec = Pick<BubblewrapSpec, 'stage' | 'network' | 'statusFd' | 'seccompFd'>;

/** The same for our relay, which sees no file but its own program; `program` is its name in the stage. */
export function relayArguments(spec: RelaySpec, program: string): string[] {
  return [
    ...apart(spec.network),
    ...['--ro-bind', `${spec.stage}/${program}`, RELAY_PATH, '--remount-ro', '/', '--chdir', '/'],
    ...report(spec),
  ];
}

/** Namespaces of its own, an ordinary user without any right, and no terminal. */
function apart(network: BubblewrapSpec['network']): string[] {
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns'],
    ...(network === 'inherited' ? ['--share-net'] : []),
    ...['--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID), '--hostname', 'glovebox'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
  ];
}

/** As {@link apart}, but with every right in namespaces of its own, and none of root's without a user namespace. */
function apartWithRights(
  network: BubblewrapSpec['network'],
  inhabitant: Exclude<Inhabitant, 'program'>,
): string[] {
  return [
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup'],
    ...(network === 'inherited' ? [] : ['--unshare-net']),
    ...(inhabitant === 'server of root'
      ? []
      : ['--unshare-user', '--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID)]),
    ...['--hostname', 'glovebox'],
    ...['--die-with-parent', '--new-session', '--cap-add', 'ALL', '--clearenv'],
  ];
}

function report({ statusFd, seccompFd }: Pick<BubblewrapSpec, 'statusFd' | 'seccompFd'>): string[] {
  return ['--json-status-fd', String(statusFd), '--seccomp', String(seccompFd)];
}

/** Those that bubblewrap makes on the way to others, for its own user alone: a server's programs are other users. */
function foldersAbove({ host, networkFiles, prefixes }: BubblewrapSpec): string[] {
  const paths = [
    ...[...host.usr, ...host.etc, ...Object.values(STAND_INS).map(({ path }) => path)],
    ...[...networkFiles, ...prefixes].map(({ path }) => path),
  ];
  const above = paths.flatMap((path) => {
    const names = path.split('/').slice(1, -1);
    return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
  });
  return [...new Set(above)];
}

function readOnly(path: string): string[] {
  return ['--ro-bind', path, path];
}
