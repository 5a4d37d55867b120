/** What a sandbox sees below `/`, as data: pure, so that all of it can be pinned by a test. */
import { STAND_INS } from '../host/furniture.ts';
import type { HostView } from '../host/hostView.ts';

/** The root of a sandbox's file system. */
export interface Root {
  /** Folders of the host, and where they are shown, read-only. */
  readonly folders: readonly { readonly source: string; readonly path: string }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Files of our own. */
  readonly files: readonly { readonly path: string; readonly data: string | Uint8Array }[];
}

/** The host's own system folders, with what interpreters need besides, and files of ours for the rest. */
export function hostRoot({ usr, roots, etc }: HostView, prefixes: readonly string[], look: Looks): Root {
  const folders = roots.flatMap(({ path, link }) => (link === undefined ? [path] : []));
  const isFolder = (path: string): boolean => look.isFolder(path);
  return {
    folders: [...usr, ...folders, ...etc.filter(isFolder), ...prefixes].map((path) => ({
      source: path,
      path,
    })),
    links: roots.flatMap(({ path, link }) => (link === undefined ? [] : [{ path, target: link }])),
    files: [
      ...etc.filter((path) => !isFolder(path)).map((path) => ({ path, data: look.read(path) })),
      ...Object.values(STAND_INS).map(({ path, text }) => ({ path, data: text })),
    ],
  };
}

/** How the host is looked at. */
export interface Looks {
  isFolder(path: string): boolean;
  read(path: string): Uint8Array;
}

/** How much room there is for what we keep beside a sandbox: what it starts with, and what its engine notes. */
const CONTROL_SIZE = '64m';

/**
 * The mounts that make a root, as a table in the form of `fstab`: first a file system in memory for ourselves
 * at `control`, and then every folder below `root`, which is in it.
 */
export function mountTable(root: Root, paths: { readonly control: string; readonly root: string }): string {
  const memory = `glovebox ${escaped(paths.control)} tmpfs size=${CONTROL_SIZE},mode=0700,nosuid,nodev,X-mount.mkdir 0 0`;
  // A folder may lie in another one that is shown.
  const inOrder = [...root.folders].sort((a, b) => (a.path < b.path ? -1 : 1));
  const folders = inOrder.map(
    ({ source, path }) =>
      `${escaped(source)} ${escaped(`${paths.root}${path}`)} none bind,ro,nosuid,nodev,X-mount.mkdir 0 0`,
  );
  return [memory, ...folders, ''].join('\n');
}

/** A word of `fstab`: what would end it is written in octal. */
function escaped(word: string): string {
  return word.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
