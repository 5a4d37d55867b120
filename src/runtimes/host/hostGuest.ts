import { setMaxListeners } from 'node:events';
import { isSandboxError, SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type {
  Archive,
  Command,
  Enforced,
  FileEntry,
  Guest,
  GuestProcess,
  RemoveOptions,
  Root,
  TransferLimits,
  Unpacked,
  UnpackOptions,
} from '../runtime.ts';
import { rootOfHost } from './hostRoot.ts';

/** The file operations of a guest; what they promise stands at `Guest`. */
export interface GuestFiles {
  read(path: string, maxBytes: number): Promise<Uint8Array>;
  write(path: string, data: Uint8Array): Promise<void>;
  list(path: string, maxEntries: number): Promise<readonly FileEntry[]>;
  remove(path: string, options: RemoveOptions, signal: AbortSignal): Promise<void>;
  /** `closed` settles when the archive holds nothing open any more, which the signal brings about. */
  pack(
    path: string,
    limits: TransferLimits,
    signal: AbortSignal,
  ): Promise<Archive & { readonly closed: Promise<void> }>;
  unpack(
    path: string,
    archive: AsyncIterable<Uint8Array>,
    options: UnpackOptions,
    signal: AbortSignal,
  ): Promise<Unpacked>;
}

/** What the guests of all runtimes share: files, and an end in good order. */
export abstract class HostGuest implements Guest {
  abstract readonly enforced: Enforced;
  readonly root: Root = rootOfHost();
  abstract readonly workspace: string;
  readonly sharesLoopback: boolean = false;
  abstract readonly environment: Readonly<Record<string, string>>;
  readonly #files: GuestFiles;
  readonly #starting = new Set<Promise<GuestProcess>>();
  readonly #running = new Set<GuestProcess>();
  /** What works on files for longer than a moment; it ends before what it works on is given up. */
  readonly #transfers = new Set<Promise<unknown>>();
  readonly #ending = new AbortController();
  #destroyed: Promise<void> | undefined;

  constructor(files: GuestFiles) {
    this.#files = files;
    // As many transfers as there are listen to it.
    setMaxListeners(0, this.#ending.signal);
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

  async listFiles(path: string, maxEntries: number): Promise<readonly FileEntry[]> {
    this.#assertOpen();
    return this.#files.list(path, maxEntries);
  }

  async removeFile(path: string, options: RemoveOptions = {}): Promise<void> {
    this.#assertOpen();
    return this.#transfer(this.#files.remove(path, options, this.#ending.signal));
  }

  async pack(path: string, limits: TransferLimits): Promise<Archive> {
    this.#assertOpen();
    return this.#transfer(
      this.#files.pack(path, limits, this.#ending.signal).then((archive) => {
        void this.#transfer(archive.closed);
        return archive;
      }),
    );
  }

  async unpack(path: string, archive: AsyncIterable<Uint8Array>, options: UnpackOptions): Promise<Unpacked> {
    try {
      this.#assertOpen();
      const ending = this.#ending.signal;
      const signal = options.signal ? AbortSignal.any([ending, options.signal]) : ending;
      return await this.#transfer(this.#files.unpack(path, archive, options, signal));
    } catch (error) {
      // Nobody reads on, and it may hold something open.
      (archive as Partial<{ destroy(): void }>).destroy?.();
      throw error;
    }
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#destroy();
    return this.#destroyed;
  }

  async #destroy(): Promise<void> {
    this.#ending.abort(closed());
    await Promise.allSettled(this.#starting);
    const running = [...this.#running];
    await Promise.all(running.map((program) => program.kill('SIGKILL')));
    await Promise.allSettled(running.map((program) => program.exit));
    while (this.#transfers.size > 0) await Promise.allSettled(this.#transfers);
    await this.release();
  }

  #assertOpen(): void {
    if (this.#destroyed !== undefined) throw closed();
  }

  async #transfer<T>(transfer: Promise<T>): Promise<T> {
    this.#transfers.add(transfer);
    try {
      return await transfer;
    } finally {
      this.#transfers.delete(transfer);
    }
  }
}

function closed(): SandboxError {
  return new SandboxError('SANDBOX_CLOSED', 'This sandbox has been closed.', { hint: 'Make a new one.' });
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
