import { lstatSync, writeFileSync } from 'node:fs';
import { STAND_INS } from '../host/furniture.ts';
import type { OutputPipes } from '../host/pipes.ts';
import type { SandboxUser } from '../host/sandboxUser.ts';
import { createStage, mountPoint, type Stage } from '../host/stage.ts';
import { writeVisible } from '../host/visible.ts';
import { NOTHING } from './arguments.ts';
import type { Tools } from './tools.ts';

/** A stage, and where folders that its user cannot reach by their own path are bound, by that path. */
export interface BubblewrapStage extends Stage {
  readonly bound: ReadonlyMap<string, string>;
}

export interface BubblewrapStageSpec {
  readonly tools: Tools;
  readonly user: SandboxUser;
  readonly diskMb: number;
  /** Folders of interpreters, in the host's paths. */
  readonly prefixes: readonly string[];
  /** For the first program. */
  readonly output: OutputPipes;
  /** See `StageSpec`. */
  readonly stdin?: 'stream';
  /** Whether the first program's standard input is a pipe from the beginning. */
  readonly pipesInput?: boolean;
}

/** Makes a stage. Throws `SANDBOX_FAILED` with the reason when this host does not let us. */
export async function createBubblewrapStage(spec: BubblewrapStageSpec): Promise<BubblewrapStage> {
  const { tools, user, diskMb, prefixes, output, stdin, pipesInput = false } = spec;
  const asRoot = process.getuid?.() === 0;
  const mount = mountPoint(prefixes);
  const toBind = asRoot ? prefixes.filter((prefix) => !isReachableByOthers(prefix)) : [];
  const bound = new Map(toBind.map((prefix, number) => [prefix, `${mount}/prefixes/${number}`]));
  const stage = await createStage({
    enter: [
      tools.unshare,
      ...(asRoot ? [] : ['--user', '--map-root-user']),
      ...['--mount', '--propagation', 'private'],
    ],
    withUserNamespace: !asRoot,
    needsOnlyMounts: true,
    ...{ tools, user, diskMb, mount, output },
    ...(stdin === undefined ? {} : { stdin }),
    steps: [
      ...[...bound].map(([bind, at]) => ({ bind, at, with: tools.mount })),
      ...(pipesInput ? [{ pipeInput: true as const }] : []),
    ],
  });
  return { ...stage, bound };
}

/** Puts the files there that stand in for the host's in every view. */
export function furnish({ folder }: Stage): void {
  writeFileSync(folder.entry(NOTHING), '', { mode: 0o444, flag: 'wx' });
  for (const [name, { text }] of Object.entries(STAND_INS)) writeVisible(folder.entry(name), text);
}

/** True when every user may pass through all folders on the way to it. */
function isReachableByOthers(path: string): boolean {
  for (let end = path.indexOf('/', 1); ; end = path.indexOf('/', end + 1)) {
    const folder = end < 0 ? path : path.slice(0, end);
    const mode = lstatSync(folder, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o001) === 0) return false;
    if (end < 0) return true;
  }
}
