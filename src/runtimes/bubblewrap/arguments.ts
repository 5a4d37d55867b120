/** Policy to bubblewrap's command line: pure, so that every flag can be pinned by a test. */
import { SandboxError } from '../../errors.ts';

/** What the host's system folders look like, as far as the arguments depend on it. */
export interface HostView {
  /** Folders below `/usr` that exist here and that programs need. */
  readonly usr: readonly string[];
  /** Top-level entries such as `/lib64`: a link to follow, or a folder to show. */
  readonly roots: readonly { readonly path: string; readonly link?: string }[];
  /** Files and folders below `/etc` that programs need and that hold no secret. */
  readonly etc: readonly string[];
  /** Files of `/proc` that exist here and tell of other users of the host. */
  readonly hiddenProc: readonly string[];
}

export interface BubblewrapSpec {
  readonly host: HostView;
  /** Where the sandbox's own file system is mounted in the stage's namespace. */
  readonly stage: string;
  /** Interpreters' folders: where the host has them, and where the program shall see them. */
  readonly prefixes: readonly { readonly source: string; readonly path: string }[];
  readonly network: 'none' | 'open';
  /** Files that name resolution and TLS need; shown only with an open network. */
  readonly networkFiles: readonly { readonly source: string; readonly path: string }[];
  readonly environment: Readonly<Record<string, string>>;
  readonly statusFd: number;
  readonly seccompFd: number;
}

/** The user and group id that programs see themselves as. */
export const INSIDE_ID = 1000;

/** The folders of the sandbox's file system that programs may write to, by where they see them. */
export const WRITABLE = { workspace: '/workspace', tmp: '/tmp', shm: '/dev/shm' } as const;

/** Files of our own that stand in for the host's, by where programs see them. */
export const STAND_INS = {
  passwd: {
    path: '/etc/passwd',
    text: `root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nsandbox:x:${INSIDE_ID}:${INSIDE_ID}:sandbox:/workspace:/bin/bash\n`,
  },
  group: { path: '/etc/group', text: `root:x:0:\nsandbox:x:${INSIDE_ID}:\n` },
  hosts: { path: '/etc/hosts', text: '127.0.0.1 localhost glovebox\n::1 localhost\n' },
  'nsswitch.conf': { path: '/etc/nsswitch.conf', text: 'passwd: files\ngroup: files\nhosts: files dns\n' },
} as const;

/** The name of an empty file of ours. */
export const NOTHING = 'nothing';

/** The arguments for `bwrap --args`, without the program's own. */
export function bubblewrapArguments(spec: BubblewrapSpec): string[] {
  const list = [
    ...['--unshare-all', '--unshare-user', '--disable-userns'],
    ...(spec.network === 'open' ? ['--share-net'] : []),
    ...['--uid', String(INSIDE_ID), '--gid', String(INSIDE_ID), '--hostname', 'glovebox'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
    ...Object.entries(spec.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...spec.host.usr.flatMap(readOnly),
    ...spec.host.roots.flatMap(({ path, link }) =>
      link === undefined ? readOnly(path) : ['--symlink', link, path],
    ),
    ...spec.host.etc.flatMap(readOnly),
    ...Object.entries(STAND_INS).flatMap(([name, { path }]) => ['--ro-bind', `${spec.stage}/${name}`, path]),
    ...(spec.network === 'open' ? spec.networkFiles : []).flatMap(({ source, path }) => [
      '--ro-bind',
      source,
      path,
    ]),
    // Some of /proc/sys belongs to the sandbox's own namespaces, and would be writable.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...spec.host.hiddenProc.flatMap((path) => ['--ro-bind', `${spec.stage}/${NOTHING}`, path]),
    ...Object.entries(WRITABLE).flatMap(([name, path]) => ['--bind', `${spec.stage}/${name}`, path]),
    ...spec.prefixes.flatMap(({ source, path }) => ['--ro-bind', source, path]),
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', WRITABLE.workspace],
    ...['--json-status-fd', String(spec.statusFd), '--seccomp', String(spec.seccompFd)],
  ];
  // They are handed over with a NUL after each: one inside would begin an argument of its own.
  const split = list.find((argument) => argument.includes('\0'));
  if (split === undefined) return list;
  throw new SandboxError('INPUT_INVALID', 'A variable or a path holds a NUL character.', {
    hint: 'Leave it out.',
  });
}

function readOnly(path: string): string[] {
  return ['--ro-bind', path, path];
}
