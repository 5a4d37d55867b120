/**
 * What we keep beside a sandbox and out of its sight: its root, its first process, and for each program a
 * bundle. It is a file system in memory of its own, so that a program that fills its disk disturbs nothing of it.
 */
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Stage } from '../host/stage.ts';
import { makeVisible, writeVisible } from '../host/visible.ts';
import type { RelayWish } from '../runtime.ts';
import { type BundleSpec, COMPLAINTS, INIT_FOLDER } from './bundle.ts';
import { createRelayPipes, type RelayPipes } from './relayPipes.ts';
import { type End, readComplaint, readReport } from './report.ts';
import type { Root } from './root.ts';

/** Where things are, below the place where the stage's file system is. */
export function controlPaths(stage: string) {
  const control = `${stage}/control`;
  return {
    control,
    root: `${control}/root`,
    given: `${control}/given`,
    layer: `${control}/layer`,
    init: `${control}/init`,
    state: `${control}/state`,
    empty: { file: `${control}/nothing`, folder: `${control}/empty` },
    /** Names what is to be mounted, while it is. */
    table: `${stage}/table`,
    bundle: (id: string) => `${control}/bundle-${id}`,
  };
}

/** Makes the rest of a root whose folders are mounted. */
export function furnishRoot(stage: Stage, root: Root): void {
  const here = controlPaths(stage.folder.self);
  const inRoot = (path: string): string => `${here.root}${path}`;
  const makeFolder = (path: string): void => {
    if (existsSync(path)) return;
    makeFolder(dirname(path));
    makeVisible(path);
  };
  for (const path of ['/proc', '/dev', '/workspace', '/tmp', INIT_FOLDER]) makeFolder(inRoot(path));
  for (const { path, target } of root.links) symlinkSync(target, inRoot(path));
  for (const { path, data } of root.files) {
    makeFolder(dirname(inRoot(path)));
    writeVisible(inRoot(path), data);
  }
}

/** Makes what all programs of a sandbox share besides its root: the first process. */
export function furnishControl(stage: Stage, init: Init): void {
  const here = controlPaths(stage.folder.self);
  rmSync(here.table);
  writeVisible(here.empty.file, '');
  makeVisible(here.empty.folder);
  mkdirSync(here.state, { mode: 0o700 });
  mkdirSync(here.init, { mode: 0o700 });
  for (const [name, data] of Object.entries(init)) {
    // Another user than ours becomes the relay, by a descriptor: the folder is closed.
    writeFileSync(`${here.init}/${name}`, data, { mode: name === 'relay' ? 0o555 : 0o500, flag: 'wx' });
  }
}

/** The first process, what it starts besides the program, and what it reads, by their names in its folder. */
export interface Init {
  readonly init: Uint8Array;
  readonly relay: Uint8Array;
  readonly settings: Uint8Array;
}

/** One program's part of it. */
export interface Bundle {
  readonly id: string;
  /** The way to the relay, where one was wished. */
  readonly pipes: RelayPipes | undefined;
  /** What was reported, and what runsc complained about. */
  readEnd(): End;
  remove(): void;
}

/** Makes a bundle with the configuration that `config` gives for its report and its relay, where one is wished. */
export async function createBundle(
  stage: Stage,
  wish: RelayWish | undefined,
  config: (names: Pick<BundleSpec, 'report' | 'relay'>) => object,
): Promise<Bundle> {
  const here = controlPaths(stage.folder.self);
  const id = randomUUID();
  const folder = here.bundle(id);
  const report = `report-${id}`;
  const reportFile = `${here.init}/${report}`;
  const relay = wish && { port: wish.port, input: `relay-in-${id}`, output: `relay-out-${id}` };
  const text = JSON.stringify(config({ report, ...(relay && { relay }) }));
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(reportFile, { force: true });
    // Left when the sandbox was ended from outside.
    for (const name of readdirSync(here.state)) {
      if (name.includes(id)) rmSync(`${here.state}/${name}`, { recursive: true, force: true });
    }
  };
  try {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(`${folder}/config.json`, text, { mode: 0o600, flag: 'wx' });
    writeFileSync(reportFile, '', { mode: 0o600, flag: 'wx' });
    const pipes = relay && (await createRelayPipes(here.init, relay));
    return {
      id,
      pipes,
      readEnd: () => ({
        report: readReport(readFileSync(reportFile)),
        complaint: readComplaint(
          textOf(`${folder}/${COMPLAINTS.log}`),
          textOf(`${folder}/${COMPLAINTS.panic}`),
        ),
      }),
      remove() {
        pipes?.remove();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The text of a file that need not be there. */
function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
