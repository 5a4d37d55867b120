import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { ArchiveEntry } from '../archive/entry.ts';
import { findLanguage } from '../languages/index.ts';
import type { LanguageName } from '../languages/language.ts';
import type { OnOutput } from '../result/output.ts';
import type { Outcome } from '../result/result.ts';
import type { Enforced, FileEntry, RemoveOptions, TransferLimits } from '../runtimes/runtime.ts';
import type { Program } from '../sandbox/program.ts';
import type { FileContent, Sandbox } from '../sandbox/sandbox.ts';
import type { UploadOptions } from '../sandbox/transfer.ts';
import { BrokenPromise, must, shown } from './expectations.ts';
import { findByInsidePid, TAKE_NAME } from './hostView.ts';

/** How long a program of the suite may take where the clause says nothing. */
const PROGRAM_TIMEOUT_SEC = 20;
const MAX_OUTPUT_BYTES = 256 * 1024;

/** How long a program that was started may take to be seen from the host. */
const SIGHT_DEADLINE_MS = 5000;

export interface RunOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array | Readable;
  readonly timeoutSec?: number;
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
  readonly onOutput?: OnOutput;
}

/** How a program of the suite ended. */
export interface Ran {
  readonly outcome: Outcome;
  readonly exitCode: number;
  readonly signal: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly truncated: boolean;
  /** By our own clock, from the call to the answer. */
  readonly tookSec: number;
  /** From the first output that `onOutput` was told of; a busy host may take its time until then. */
  readonly sinceFirstOutputSec: number | undefined;
  readonly oomKills: number | undefined;
  readonly cpuSec: number | undefined;
  readonly peakMemoryMb: number | undefined;
}

/** Name, type and content of each entry of an archive. */
export type Carried = [name: string, type: string, content: string][];

/** A sandbox with short ways to run the suite's programs in it. */
export class Box {
  readonly #sandbox: Sandbox;
  readonly #signal: AbortSignal;

  constructor(sandbox: Sandbox, signal: AbortSignal) {
    this.#sandbox = sandbox;
    this.#signal = signal;
  }

  get enforced(): Enforced {
    return this.#sandbox.enforced;
  }

  /** What is left of a warm program's tree is on its end when there is the result, and gone when the sandbox is closed. */
  get mayEndLate(): boolean {
    return this.#sandbox.warmedBy !== undefined;
  }

  python(code: string, options: RunOptions = {}): Promise<Ran> {
    return this.code('python', code, options);
  }

  code(language: LanguageName, code: string, options: RunOptions = {}): Promise<Ran> {
    return this.#run({ code: Buffer.from(code), language: findLanguage(language) }, options);
  }

  command(command: readonly [string, ...string[]], options: RunOptions = {}): Promise<Ran> {
    return this.#run({ command }, options);
  }

  /** Runs Python code that prints one JSON value, which is the answer. */
  async ask<T>(code: string, options: RunOptions = {}): Promise<T> {
    const ran = await this.python(`import json, os, sys\n${code}`, options);
    must(
      ran.outcome === 'exited' && ran.exitCode === 0,
      `the program that looks ended with ${describeEnd(ran)}`,
    );
    try {
      return JSON.parse(ran.stdout) as T;
    } catch {
      throw new BrokenPromise(`the program that looks printed ${shown(ran.stdout)}`);
    }
  }

  /** Runs a program that waits, and looks at its process from the host meanwhile; undefined when it is not seen. */
  async watch<T>(look: (pid: number) => T | Promise<T>): Promise<T | undefined> {
    const nonce = newNonce();
    const stop = new AbortController();
    let printed = '';
    let early: Ran | undefined;
    const running = this.python(
      `${TAKE_NAME}import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(15)`,
      {
        args: [nonce],
        signal: stop.signal,
        onOutput: ({ text }) => {
          printed += text;
        },
      },
    ).then((ran) => {
      early = ran;
    });
    try {
      await until(() => printed.endsWith('\n') || early !== undefined, SIGHT_DEADLINE_MS);
      must(printed.endsWith('\n'), 'a program that prints a line and waits was not heard');
      const pid = findByInsidePid(nonce, Number(printed));
      return pid === undefined ? undefined : await look(pid);
    } finally {
      stop.abort();
      await running;
    }
  }

  writeFile(path: string, content: string | Uint8Array): Promise<{ path: string; size: number }> {
    return this.#sandbox.writeFile(path, content);
  }

  readFile(path: string): Promise<FileContent> {
    return this.#sandbox.readFile(path);
  }

  removeFile(path: string, options?: RemoveOptions): Promise<void> {
    return this.#sandbox.removeFile(path, options);
  }

  /** What an archive of it holds: type and content of each entry by name, sorted. */
  async carriedOut(path: string, limits: Partial<TransferLimits> = {}): Promise<Carried> {
    const { readArchive } = await import('../archive/readArchive.ts');
    const entries: Carried = [];
    const archive = await this.#sandbox.download(path, { ...limits, signal: this.#signal });
    for await (const { name, type, mode, target, content } of readArchive(archive)) {
      const said = type === 'symlink' ? target : await buffer(content);
      const kind = type === 'file' && (mode & 0o100) !== 0 ? 'program' : type;
      // Some begin with the top itself, and some end the name of a folder with a slash.
      const plain = name.toString().replace(/^\.\//, '').replace(/\/$/, '');
      if (plain !== '' && plain !== '.') entries.push([plain, kind, said.toString()]);
    }
    return entries.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Unpacks an archive of these entries. */
  async carryIn(
    path: string,
    entries: readonly ArchiveEntry[] | Uint8Array,
    options: UploadOptions = {},
  ): Promise<void> {
    const { writeArchive } = await import('../archive/writeArchive.ts');
    const archive = entries instanceof Uint8Array ? Readable.from([entries]) : writeArchive(entries);
    await this.#sandbox.upload(path, archive, { ...options, signal: this.#signal });
  }

  async listFiles(path?: string): Promise<readonly FileEntry[]> {
    return (await this.#sandbox.listFiles(path)).files;
  }

  close(): Promise<void> {
    return this.#sandbox.close();
  }

  async #run(run: Program['run'], options: RunOptions): Promise<Ran> {
    const { args = [], env = {}, stdin, onOutput } = options;
    const startedAt = performance.now();
    let firstOutputAt: number | undefined;
    const outcome = await this.#sandbox.run({
      run,
      args,
      env,
      files: {},
      collect: [],
      timeoutSec: options.timeoutSec ?? PROGRAM_TIMEOUT_SEC,
      maxOutputBytes: options.maxOutputBytes ?? MAX_OUTPUT_BYTES,
      signal: options.signal ? AbortSignal.any([options.signal, this.#signal]) : this.#signal,
      ...(stdin === undefined ? {} : { stdin }),
      ...(onOutput === undefined
        ? {}
        : {
            onOutput: (chunk) => {
              firstOutputAt ??= performance.now();
              return onOutput(chunk);
            },
          }),
    });
    return {
      outcome: outcome.outcome,
      exitCode: outcome.exitCode,
      signal: outcome.signal,
      stdout: outcome.stdout.text,
      stderr: outcome.stderr.text,
      stdoutBytes: outcome.stdout.bytes,
      stderrBytes: outcome.stderr.bytes,
      truncated: outcome.stdout.truncated || outcome.stderr.truncated,
      tookSec: (performance.now() - startedAt) / 1000,
      sinceFirstOutputSec: firstOutputAt && (performance.now() - firstOutputAt) / 1000,
      oomKills: outcome.oomKills,
      cpuSec: outcome.usage?.cpuSec,
      peakMemoryMb: outcome.usage?.peakMemoryMb,
    };
  }
}

/** How a program ended, for a sentence. */
export function describeEnd({ outcome, exitCode, stderr }: Ran): string {
  const said = stderr.trim().split('\n').at(-1) ?? '';
  return `${outcome} ${exitCode}${said === '' ? '' : ` (${said.slice(-200)})`}`;
}

/** A word that nothing else on this host contains. */
export function newNonce(): string {
  return `gbx${randomBytes(12).toString('hex')}`;
}

/** Looks until the condition holds or the time is over; resolves to whether it came to hold. */
export async function until(condition: () => boolean, deadlineMs: number): Promise<boolean> {
  const deadline = performance.now() + deadlineMs;
  while (!condition()) {
    if (performance.now() > deadline) return false;
    await delay(10);
  }
  return true;
}
