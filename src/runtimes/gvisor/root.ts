/** What a sandbox sees below `/`, as data: pure, so that all of it can be pinned by a test. */
import { STAND_INS, WRITABLE } from '../host/furniture.ts';
import type { HostView } from '../host/hostView.ts';
import type { LaunchStep } from '../host/launcher.ts';
import { HIDDEN_DEVICES, INIT_FOLDER } from './bundle.ts';

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

/** What is laid over a given root: places for what is mounted there, and files of ours that stand in for its own. */
const LAYER = {
  folders: ['/proc', '/sys', ...Object.values(WRITABLE), INIT_FOLDER, '/etc', ...hiddenDevices('folder')],
  files: [
    ...Object.values(STAND_INS).map(({ path, text }) => ({ path, text })),
    ...hiddenDevices('file').map((path) => ({ path, text: '' })),
  ],
};

function hiddenDevices(kind: 'file' | 'folder'): string[] {
  return Object.entries(HIDDEN_DEVICES).flatMap(([path, its]) => (its === kind ? [path] : []));
}

/** Where a root is made of a given folder. */
export interface LayerPaths {
  readonly control: string;
  readonly root: string;
  /** Where the folder is, and what is laid over it. */
  readonly given: string;
  readonly layer: string;
  readonly table: string;
}

/**
 * The steps that make a root of a given folder, as a whole: nothing below it is looked up on the host, where a
 * link in it would lead elsewhere. The kernel lays what we add over it, so that nothing is written to it, and
 * what is mounted in it, such as the host's `/proc`, is not there.
 */
export function givenRootSteps(source: string, paths: LayerPaths, mount: string): LaunchStep[] {
  const { control, root, given, layer, table } = paths;
  const folder = { folders: [{ source, path: '' }], links: [], files: [] };
  const options = `ro,nosuid,nodev,lowerdir=${layer}:${given},X-mount.mkdir`;
  return [
    { mountTable: mountTable(folder, { control, root: given }), file: table, with: mount },
    { makeFolders: LAYER.folders.map((path) => `${layer}${path}`) },
    ...LAYER.files.map(({ path, text }) => ({ writeFile: `${layer}${path}`, text })),
    { mountTable: `glovebox ${escaped(root)} overlay ${options} 0 0\n`, file: table, with: mount },
  ];
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
