import { randomBytes, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { SandboxError } from '../errors.ts';
import type { Language } from '../languages/language.ts';
import type { Policy } from '../policy/policy.ts';
import type { OnOutput } from '../result/output.ts';
import type { Choice } from '../runtimes/choose.ts';
import { assertHeld } from '../runtimes/enforceable.ts';
import type { Enforced, FileEntry, Guest, SandboxSpec } from '../runtimes/runtime.ts';
import { type RunOutcome, runCommand } from './run.ts';

/** One program to run, with all that was left open filled in. */
export interface Program {
  /** What runs: code in a language, or a command as it is. */
  readonly run:
    | { readonly code: Uint8Array; readonly language: Language }
    | { readonly command: readonly [string, ...string[]] };
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array | Readable;
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly collect: readonly string[];
  readonly timeoutSec: number;
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: OnOutput;
}

export interface ProgramOutcome extends RunOutcome {
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly notCollected?: Readonly<Record<string, string>>;
  readonly interpreterVersion?: string;
}

/** The content of a file as text where it is UTF-8, and as base64 where it is not. */
export interface FileContent {
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
  /** In bytes. */
  readonly size: number;
}

type Chosen = Pick<Choice, 'runtime' | 'version' | 'fallbackFrom'>;

/** What is handed out of a workspace at once: as base64 text it must still fit into one string. */
const MAX_FILE_MB = 256;

/** One live isolated place with a workspace. Files last between executions; each gets a fresh interpreter. */
export class Sandbox {
  readonly id: string;
  readonly runtime: string;
  readonly runtimeVersion: string;
  /** The name of the runtime that was wanted, where this one is a fallback. */
  readonly fallbackFrom: string | undefined;
  readonly policy: Policy;
  readonly #guest: Guest;
  readonly #maxFileBytes: number;
  #queue: Promise<unknown> = Promise.resolve();
  #closed: Promise<void> | undefined;

  private constructor(id: string, choice: Chosen, policy: Policy, guest: Guest) {
    this.id = id;
    this.runtime = choice.runtime.name;
    this.runtimeVersion = choice.version;
    this.fallbackFrom = choice.fallbackFrom;
    this.policy = policy;
    this.#guest = guest;
    this.#maxFileBytes = Math.min(policy.limits.diskMb.value, MAX_FILE_MB) * 1024 * 1024;
  }

  /** Makes one, and refuses it when it turns out to be held by less than the policy asks for. */
  static async create(
    choice: Chosen,
    policy: Policy,
    languages: readonly Language[],
    signal?: AbortSignal,
    use: Pick<SandboxSpec, 'singleUse'> = {},
  ): Promise<Sandbox> {
    const id = randomBytes(6).toString('hex');
    const spec: SandboxSpec = { id, policy, languages: languages.map(({ name }) => name), ...use };
    const guest = await choice.runtime.create(spec, signal);
    try {
      assertHeld(choice.runtime.name, guest.enforced, policy);
    } catch (error) {
      await guest.destroy();
      throw error;
    }
    return new Sandbox(id, choice, policy, guest);
  }

  get enforced(): Enforced {
    return this.#guest.enforced;
  }

  /** Runs one program; programs of one sandbox run one after another, in the order of the calls. */
  run(program: Program): Promise<ProgramOutcome> {
    const turn = this.#queue.then(() => this.#run(program));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  /** Text is written as UTF-8. Paths are relative to the workspace, or absolute below `/workspace`. */
  async writeFile(path: string, content: string | Uint8Array): Promise<{ path: string; size: number }> {
    this.#assertOpen();
    const data = typeof content === 'string' ? Buffer.from(content) : content;
    await this.#guest.writeFile(path, data);
    return { path, size: data.byteLength };
  }

  async readFile(path: string): Promise<FileContent> {
    this.#assertOpen();
    const data = Buffer.from(await this.#guest.readFile(path, this.#maxFileBytes));
    const text = data.toString('utf8');
    return Buffer.from(text).equals(data)
      ? { content: text, encoding: 'utf8', size: data.length }
      : { content: data.toString('base64'), encoding: 'base64', size: data.length };
  }

  async listFiles(path = '.'): Promise<{ files: readonly FileEntry[] }> {
    this.#assertOpen();
    return { files: await this.#guest.listFiles(path) };
  }

  /** Ends every process and removes every trace; safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#guest.destroy();
    return this.#closed;
  }

  async #run(program: Program): Promise<ProgramOutcome> {
    this.#assertOpen();
    const guest = this.#guest;
    for (const [path, data] of Object.entries(program.files)) await guest.writeFile(path, data);
    const { argv, version } = await this.#prepare(program);
    const outcome = await runCommand(guest, {
      command: { argv, env: { ...guest.environment, ...program.env } },
      ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
      timeoutSec: program.timeoutSec,
      maxOutputBytes: program.maxOutputBytes,
      ...(program.signal === undefined ? {} : { signal: program.signal }),
      ...(program.onOutput === undefined ? {} : { onOutput: program.onOutput }),
    });
    return {
      ...outcome,
      ...(await this.#collect(program.collect)),
      ...(version === undefined ? {} : { interpreterVersion: version }),
    };
  }

  async #prepare({
    run,
    args,
  }: Program): Promise<{ argv: readonly [string, ...string[]]; version?: string }> {
    if ('command' in run) {
      // Through the shell that is there: it says, and answers 127, when there is no such command.
      const { path } = await this.#guest.interpreter('shell');
      return { argv: [path, '-c', 'exec "$@"', 'glovebox', ...run.command, ...args] };
    }
    const interpreter = await this.#guest.interpreter(run.language.name);
    await this.#guest.writeFile(run.language.fileName, run.code);
    const file = `${this.#guest.workspace}/${run.language.fileName}`;
    return { argv: run.language.command(interpreter.path, file, args), version: interpreter.version };
  }

  async #collect(paths: readonly string[]): Promise<Pick<ProgramOutcome, 'files' | 'notCollected'>> {
    if (paths.length === 0) return {};
    const files: [string, Uint8Array][] = [];
    const missing: [string, string][] = [];
    for (const path of paths) {
      try {
        files.push([path, await this.#guest.readFile(path, this.#maxFileBytes)]);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        missing.push([path, error.message]);
      }
    }
    return {
      files: Object.fromEntries(files),
      ...(missing.length === 0 ? {} : { notCollected: Object.fromEntries(missing) }),
    };
  }

  #assertOpen(): void {
    if (this.#closed === undefined) return;
    throw new SandboxError('SANDBOX_CLOSED', `The sandbox ${this.id} has been closed.`, {
      hint: 'Make a new one.',
    });
  }
}

/** A new id for one execution. */
export function newExecutionId(): string {
  return randomUUID();
}
