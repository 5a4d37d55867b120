import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { processesWith } from '../../support/traces.ts';
import { REPOSITORY } from './build.ts';
import type { Command } from './command.ts';

/** The background processes of `glovebox sandbox` that a test's commands started. */
export interface BackgroundProcesses {
  /** Where they listen. */
  readonly folder: string;
  pids(): number[];
  /** The only one there is. */
  pid(): number;
  /** Waits until the last one has ended by itself, and has removed its folder. */
  gone(): Promise<void>;
}

/** To be called after `useCommand`: they are ended before their surroundings are removed. */
export function useBackgroundProcesses(command: Command): BackgroundProcesses {
  const background: BackgroundProcesses = {
    get folder() {
      return join(command.temporary, `glovebox-${process.getuid?.()}`);
    },
    pids: () =>
      processesWith(command.temporary).flatMap(({ pid, command: line }) =>
        line.includes('sandboxHost.js') ? [pid] : [],
      ),
    pid() {
      const [pid, ...others] = background.pids();
      if (pid === undefined || others.length > 0) throw new Error(`There are ${others.length} others.`);
      return pid;
    },
    gone: () =>
      eventually(
        'the background process has ended and has removed its folder',
        () => background.pids().length === 0 && !existsSync(background.folder),
      ),
  };
  afterEach(async () => {
    for (const pid of background.pids()) process.kill(pid, 'SIGTERM');
    await eventually('no background process is left', () => background.pids().length === 0);
  });
  return background;
}

/** Sockets, logs and what else is in the folder of background processes, by their endings. */
export function endingsIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => name.slice(name.indexOf('.')))
    .sort();
}

export function filesIn(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name));
}

/** Starts one without the command that does so, and resolves to what it says about that. */
export async function startedAlone(folder: string): Promise<unknown> {
  const program = join(REPOSITORY, 'dist/cli/sandboxHost.js');
  const child = spawn(process.execPath, [program, folder, '0'.repeat(16)], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  return JSON.parse(await text(child.stdio[3] as Readable));
}
