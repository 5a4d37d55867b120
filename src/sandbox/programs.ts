import { extname } from 'node:path';
import { Bell } from '../bell.ts';
import { isSandboxError } from '../errors.ts';
import type { Policy } from '../policy/policy.ts';
import type { Command, Guest, ProgramLimits } from '../runtimes/runtime.ts';
import { Background } from './background.ts';
import type { KeptOutput } from './keptOutput.ts';
import type { BackgroundProgram, Program, ProgramOutcome } from './program.ts';
import { programEnvironment } from './programEnvironment.ts';
import { type RunRequest, runCommand, startCommand } from './run.ts';
import type { SandboxNetwork } from './sandboxNetwork.ts';

/** How long the last connections of a program that has ended may take to be heard of. */
const CONNECTIONS_END_MS = 500;

export interface ProgramsParts {
  readonly guest: Guest;
  readonly policy: Policy;
  /** Absent where there is no allowlist. */
  readonly network?: SandboxNetwork | undefined;
  /** Absent where no output is kept. */
  readonly kept?: KeptOutput | undefined;
  /** Aborts when the sandbox's time is over. */
  readonly lifetime: AbortSignal;
  /** What is collected of one file at most. */
  readonly maxFileBytes: number;
}

/** Runs programs in a guest: their code and files are put there first, what they made is collected behind them. */
export class Programs {
  readonly #parts: ProgramsParts;
  #codeFiles = 0;
  #hasStarted = false;

  constructor(parts: ProgramsParts) {
    this.#parts = parts;
  }

  /** Whether the guest was ever told to start one, and did. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  async run(program: Program): Promise<ProgramOutcome> {
    const { guest, network, kept } = this.#parts;
    await this.#putFiles(program);
    const { argv, version } = await this.#prepare(program);
    const record = program.executionId === undefined ? undefined : kept?.open(program.executionId);
    const recording = network?.record();
    try {
      const request = await this.#request(program, argv);
      program.onStart?.();
      const outcome = await runCommand(guest, {
        ...request,
        ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
        ...(record === undefined ? {} : { keep: record.push }),
      });
      const decided = await recording?.stop(CONNECTIONS_END_MS);
      return {
        ...outcome,
        ...(decided === undefined ? {} : { network: decided }),
        ...(await this.#collect(program.collect)),
        ...(version === undefined ? {} : { interpreterVersion: version }),
      };
    } finally {
      record?.end();
      void recording?.stop(0);
    }
  }

  async start(id: string, program: BackgroundProgram): Promise<Background> {
    await this.#putFiles(program);
    const { run } = program;
    // A name of its own: the next execution's code would otherwise take its place while it is read.
    const fileName = `process-${++this.#codeFiles}${'language' in run ? extname(run.language.fileName) : ''}`;
    const { argv } = await this.#prepare(program, fileName);
    const news = new Bell();
    const running = await startCommand(this.#parts.guest, {
      ...(await this.#request(program, argv)),
      ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
      keep: () => news.ring(),
    });
    const shown = 'command' in run ? [...run.command, ...program.args] : argv;
    return new Background(id, shown, running, news);
  }

  /** What every program finds in its environment, unless it is given something else. */
  async environment(): Promise<Record<string, string>> {
    const { guest, network } = this.#parts;
    const environment = programEnvironment(guest);
    if (network === undefined) return environment;
    // Whatever runs may start a Node.js; where there is none, there is nobody to tell.
    const node = await guest.interpreter('javascript').catch(() => undefined);
    return { ...environment, ...network.environment(node?.version) };
  }

  async #putFiles({ files }: Pick<Program, 'files'>): Promise<void> {
    for (const [path, data] of Object.entries(files)) await this.#parts.guest.writeFile(path, data);
  }

  async #prepare(
    { args, run }: Pick<Program, 'args' | 'run'>,
    fileName = 'language' in run ? run.language.fileName : '',
  ): Promise<{ argv: readonly [string, ...string[]]; version?: string }> {
    const { guest } = this.#parts;
    if ('command' in run) {
      // Through the shell that is there: it says, and answers 127, when there is no such command.
      const { path } = await guest.interpreter('shell');
      return { argv: [path, '-c', 'exec "$@"', 'glovebox', ...run.command, ...args] };
    }
    const interpreter = await guest.interpreter(run.language.name);
    await guest.writeFile(fileName, run.code);
    const file = `${guest.workspace}/${fileName}`;
    return { argv: run.language.command(interpreter.path, file, args), version: interpreter.version };
  }

  async #request(program: BackgroundProgram, argv: readonly [string, ...string[]]): Promise<RunRequest> {
    const { timeoutSec, maxOutputBytes, limits, signal, onOutput } = program;
    return {
      command: {
        argv,
        env: { ...(await this.environment()), ...program.env },
        ...this.#limits(timeoutSec, limits),
      },
      maxOutputBytes,
      lifetime: this.#parts.lifetime,
      onSpawned: () => {
        this.#hasStarted = true;
      },
      ...(timeoutSec === undefined ? {} : { timeoutSec }),
      ...(signal === undefined ? {} : { signal }),
      ...(onOutput === undefined ? {} : { onOutput }),
    };
  }

  /** Behind the deadline, drivers bound the processor's time by it. */
  #limits(timeoutSec = Number.POSITIVE_INFINITY, limits: ProgramLimits = {}): Pick<Command, 'limits'> {
    const ownTime = timeoutSec === this.#parts.policy.limits.timeoutSec.value ? {} : { timeoutSec };
    const own = { ...ownTime, ...limits };
    return Object.keys(own).length === 0 ? {} : { limits: own };
  }

  async #collect(paths: readonly string[]): Promise<Pick<ProgramOutcome, 'files' | 'notCollected'>> {
    if (paths.length === 0) return {};
    const { guest, maxFileBytes } = this.#parts;
    const files: [string, Uint8Array][] = [];
    const missing: [string, string][] = [];
    for (const path of paths) {
      try {
        files.push([path, await guest.readFile(path, maxFileBytes)]);
      } catch (error) {
        if (!isSandboxError(error)) throw error;
        missing.push([path, error.message]);
      }
    }
    return {
      files: Object.fromEntries(files),
      ...(missing.length === 0 ? {} : { notCollected: Object.fromEntries(missing) }),
    };
  }
}
