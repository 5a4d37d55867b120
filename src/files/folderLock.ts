/** A lock on a folder that processes share, without any helper: taken by a link, which only one of them can make. */
import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorCode, SandboxError } from '../errors.ts';
import { lifeOf, type ProcessOwner, thisProcess } from './processOwner.ts';

const LOCK = 'lock';
const BREAKING = 'lock.breaking';
const NAME_TAG = 'lock-of-';

/** How long somebody may wait: whoever has it does so for milliseconds. */
const PATIENCE_MS = 10_000;

/** Of an owner that cannot be looked up from here: it is on another host, or in another process namespace. */
const STALE_AFTER_MS = 30_000;

/** How it is said that the lock cannot be had. */
interface Named {
  readonly what: string;
  readonly code: ErrorCode;
}

/** Held by one process at a time; what a process that died left is taken away by the next. */
export class FolderLock {
  readonly #folder: string;
  readonly #named: Named;
  /** Ours, which is linked to the lock's name while we have it. */
  readonly #name: string;
  #swept = false;

  constructor(folder: string, named: Named) {
    this.#folder = folder;
    this.#named = named;
    this.#name = join(folder, `${NAME_TAG}${process.pid}-${randomUUID()}`);
  }

  /**
   * Does something while no other process does. Rejects with the code that was given when it cannot be had in time,
   * and with what the file system says where the folder cannot be written.
   */
  async hold<T>(action: () => T): Promise<T> {
    const lock = join(this.#folder, LOCK);
    this.#sweep();
    try {
      // On a full disk it is made, and stays empty.
      writeFileSync(this.#name, JSON.stringify(thisProcess()), { mode: 0o600, flag: 'wx' });
      await this.#take(lock);
      try {
        return action();
      } finally {
        rmSync(lock, { force: true });
      }
    } finally {
      rmSync(this.#name, { force: true });
    }
  }

  /** Takes away the names of processes that have died. */
  #sweep(): void {
    if (this.#swept) return;
    this.#swept = true;
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      if (name.startsWith(NAME_TAG) && isStale(path)) rmSync(path, { force: true });
    }
  }

  async #take(lock: string): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    for (let wait = 1; !this.#link(lock); wait = Math.min(wait * 2, 20)) {
      if (isStale(lock)) this.#breakOpen(lock);
      else if (Date.now() > deadline) throw unavailable(this.#named, lock);
      else await delay(wait * Math.random());
    }
  }

  /** Only one takes a stale lock away: otherwise the second would take away what a third has made by then. */
  #breakOpen(lock: string): void {
    const breaking = join(this.#folder, BREAKING);
    if (!this.#link(breaking)) {
      // It has died in the few instructions below.
      if (isStale(breaking)) rmSync(breaking, { force: true });
      return;
    }
    try {
      if (isStale(lock)) rmSync(lock, { force: true });
    } finally {
      rmSync(breaking, { force: true });
    }
  }

  #link(path: string): boolean {
    try {
      linkSync(this.#name, path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}

/** Whether it belongs to a process that is gone; false for what is not there. */
function isStale(path: string): boolean {
  try {
    const life = lifeOf(JSON.parse(readFileSync(path, 'utf8')) as ProcessOwner);
    return life === 'elsewhere' ? existsSince(path, STALE_AFTER_MS) : life === 'dead';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    // It is no file of ours, or was cut short: whoever made it had a moment to end it.
    return existsSince(path, STALE_AFTER_MS);
  }
}

function existsSince(path: string, ms: number): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return status !== undefined && Date.now() - status.ctimeMs > ms;
}

function unavailable({ what, code }: Named, lock: string): SandboxError {
  const seconds = PATIENCE_MS / 1000;
  return new SandboxError(code, `${what} has been locked for ${seconds} seconds.`, {
    hint: `See who has it: cat ${lock}. Where that process hangs, end it.`,
    details: { lock },
  });
}
