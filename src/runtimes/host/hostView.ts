import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';

/** What the host's system folders look like, as far as programs need them. */
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

/** What programs need of `/usr`; not `/usr/local`, which may hold configuration, nor sources or headers. */
const USR = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'libexec', 'share'].map(
  (name) => `/usr/${name}`,
);

const ROOTS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** For the dynamic linker, for Debian's command alternatives, and for the local time. */
const ETC = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/etc/timezone'];

const NETWORK_FILES = ['/etc/resolv.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/pki', '/etc/services'];

/** The kernel's keys are counted and listed by user, across sandboxes of one user. */
const HIDDEN_PROC = ['/proc/keys', '/proc/key-users'];

/** Looks at the host's system folders. */
export function readHostView(): HostView {
  return {
    usr: USR.filter(exists),
    roots: ROOTS.filter(exists).map((path) =>
      lstatSync(path).isSymbolicLink() ? { path, link: readlinkSync(path) } : { path },
    ),
    etc: ETC.filter(exists),
    hiddenProc: HIDDEN_PROC.filter(exists),
  };
}

/** Files for an open network; `resolv.conf` is often a link to a folder that is not shown. */
export function readNetworkFiles(): { source: string; path: string }[] {
  return NETWORK_FILES.filter(exists).map((path) => ({ source: realpathSync(path), path }));
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
