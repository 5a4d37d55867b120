import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import type { NetworkMode } from '../../policy/policy.ts';

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
const ETC = [
  ...['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/etc/timezone'],
  // Without these Debian's matplotlib cannot be imported, and looks for fonts in vain.
  ...['/etc/matplotlibrc', '/etc/fonts'],
];

/** Whom TLS trusts, and names of ports. */
const TRUST_FILES = [
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/ca-certificates',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust',
  '/etc/services',
];

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

/**
 * Files that a program needs to reach others by a network of this kind; only where it is open does it look names up
 * by itself. `resolv.conf` is often a link to a folder that is not shown.
 */
export function readNetworkFiles(network: NetworkMode): { source: string; path: string }[] {
  const wanted = { none: [], allowlist: TRUST_FILES, open: ['/etc/resolv.conf', ...TRUST_FILES] }[network];
  return wanted.filter(exists).map((path) => ({ source: realpathSync(path), path }));
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
