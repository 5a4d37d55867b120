/**
 * One conversation at a time on a terminal, whichever processes of this user want one: of two that read there, each key
 * would reach either, and answer a question that the person was not reading.
 */
import { fstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FolderLock } from '../../files/folderLock.ts';
import { makePrivateFolder, readPrivateFile, writePrivateFile } from '../../files/privateFiles.ts';
import { asProcessOwner, lifeOf, thisProcess } from '../../files/processOwner.ts';
import { CONTROLLING_TERMINAL, controllingTerminalNumber, isInBackground } from './openTerminal.ts';
import { sha256 } from './question.ts';

const AGAIN_MS = 100;
const MAX_BYTES = 64 * 1024;

/** Whose turn it is, in a folder that all processes of this user share. */
export class TerminalTurns {
  readonly #folder: string;
  readonly #terminal: () => number | undefined;

  /** `terminal` is the number of the one that is talked on; the one that this process is in the foreground of when absent. */
  constructor(folder: string, terminal: () => number | undefined = foregroundTerminal) {
    this.#folder = folder;
    this.#terminal = terminal;
  }

  /**
   * Talks to a person once nobody else does, and for as long as it takes: only what a process that died has left is taken
   * away. Rejects with the signal's reason when that comes first. Where there is no terminal, or in its background, nobody
   * can be talked to, and there is nothing to wait for.
   */
  async hold<T>(talk: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const terminal = this.#terminal();
    if (terminal === undefined) return talk();
    makePrivateFolder(this.#folder);
    const turn = this.#turnAt(terminal);
    await this.#take(turn, signal);
    try {
      signal.throwIfAborted();
      return await talk();
    } finally {
      rmSync(turn, { force: true });
    }
  }

  /** Resolves when nobody is talked to on the terminal that is open as this descriptor. */
  async untilFree(descriptor: number): Promise<void> {
    const { rdev } = fstatSync(descriptor);
    const isToldByNumber = process.platform === 'linux' && rdev !== CONTROLLING_TERMINAL;
    const terminal = isToldByNumber ? rdev : controllingTerminalNumber();
    if (terminal === undefined) return;
    while (isTaken(this.#turnAt(terminal))) await delay(AGAIN_MS);
  }

  async #take(turn: string, signal: AbortSignal): Promise<void> {
    const lock = new FolderLock(this.#folder, { what: 'The folder of terminals', code: 'WAIT_FAILED' });
    const takeIfFree = (): boolean => {
      if (isTaken(turn)) return false;
      writePrivateFile(turn, JSON.stringify(thisProcess()));
      return true;
    };
    for (;;) {
      signal.throwIfAborted();
      if (!isTaken(turn) && (await lock.hold(takeIfFree))) return;
      // The signal's reason is thrown above.
      await delay(AGAIN_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** The number of a terminal means something on one host, and who has it can be looked up in one process namespace. */
  #turnAt(terminal: number): string {
    return join(this.#folder, `${sha256(thisProcess().where).slice(0, 16)}-${terminal}.json`);
  }
}

function foregroundTerminal(): number | undefined {
  return isInBackground() ? undefined : controllingTerminalNumber();
}

/** Whether a process that lives has it. */
function isTaken(turn: string): boolean {
  const file = readPrivateFile(turn, MAX_BYTES);
  if (file.found !== 'text') return false;
  const owner = asProcessOwner(parsed(file.text));
  return owner !== undefined && lifeOf(owner) === 'alive';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A SyntaxError: nobody of ours has written it.
    return undefined;
  }
}
