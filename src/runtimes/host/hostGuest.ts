import { isSandboxError, SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Command, Enforced, FileEntry, Guest, GuestProcess } from '../runtime.ts';

/** The file operations of a guest; what they promise stands at `Guest`. */
export interface GuestFiles {
  read(path: string, maxBytes: number): Promise<Uint8Array>;
  write(path: string, data: Uint8Array): Promise<void>;
  list(path: string): Promise<readonly FileEntry[]>;
}

/** What the guests of all runtimes share: files, and an end in good order. */
export abstract class HostGuest implements Guest {
  abstract readonly enforced: Enforced;
  abstract readonly workspace: string;
  abstract readonly environment: Readonly<Record<string, string>>;
  readonly #files: GuestFiles;
  readonly #starting = new Set<Promise<GuestProcess>>();
  readonly #running = new Set<GuestProcess>();
  #destroyed: Promise<void> | undefined;

  constructor(files: GuestFiles) {
    this.#files = files;
  }

  abstract interpreter(language: LanguageName): ReturnType<Guest['interpreter']>;

  /** Starts a program. Its `exit` settles only when its whole tree is gone. */
  protected abstract start(command: Command): Promise<GuestProcess>;

  /** Gives up what the guest is made of, once no program is left. */
  protected abstract release(): Promise<void>;

  async spawn(command: Command): Promise<GuestProcess> {
    this.#assertOpen();
    const starting = this.start(command);
    this.#starting.add(starting);
    try {
      const program = await starting;
      this.#running.add(program);
      // Whoever spawned it looks at how it ended; until then a failure is not an unhandled one.
      program.exit.catch(() => {}).finally(() => this.#running.delete(program));
      return program;
    } finally {
      this.#starting.delete(starting);
    }
  }

  async readFile(path: string, maxBytes: number): Promise<Uint8Array> {
    this.#assertOpen();
    return this.#files.read(path, maxBytes);
  }

  async writeFile(path: string, data: Uint8Array): Promise<void> {
    this.#assertOpen();
    return this.#files.write(path, data);
  }

  async listFiles(path: string): Promise<readonly FileEntry[]> {
    this.#assertOpen();
    return this.#files.list(path);
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    await Promise.allSettled(this.#starting);
    const running = [...this.#running];
    await Promise.all(running.map((program) => program.kill('SIGKILL')));
    await Promise.allSettled(running.map((program) => program.exit));
    await this.release();
  }

  #assertOpen(): void {
    if (this.#destroyed === undefined) return;
    throw new SandboxError('SANDBOX_CLOSED', 'This sandbox has been closed.', { hint: 'Make a new one.' });
  }
}

/** What is thrown when the operating system refuses to start a process; an error of ours stays what it is. */
export function notStarted(error: unknown): SandboxError {
  if (isSandboxError(error)) return error;
  const tooLong = (error as NodeJS.ErrnoException).code === 'E2BIG';
  return tooLong
    ? new SandboxError('INPUT_INVALID', 'The arguments are too long for this system.', {
        hint: 'Pass long input as a file or on standard input.',
        cause: error,
      })
    : new SandboxError('SANDBOX_FAILED', `The sandbox could not be started: ${(error as Error).message}`, {
        hint: 'Run: glovebox doctor',
        cause: error,
      });
}
