import { isUtf8 } from 'node:buffer';
import { READY } from '../../languages/waiting/waiting.ts';
import { FramedSource } from '../host/init/framedSource.ts';
import type { InputPipe } from '../host/pipes.ts';
import {
  type PreparedInterpreter,
  programArguments,
  READY_DEADLINE_MS,
  usedTwice,
} from '../host/waitingInterpreter.ts';
import { codeOf } from '../host/waitStatus.ts';
import type { Command, Exit, GuestProcess } from '../runtime.ts';
import { isolationFailed, type Started } from './started.ts';

/** A file in the workspace, and all that is in it. */
export interface WrittenFile {
  readonly path: string;
  readonly data: Uint8Array;
}

/**
 * gVisor makes a thread of the host for each process and each of its own threads that comes to run it, when it comes to it
 * first (`subprocess.lookupOrCreate` in its platform ptrace); after so many rounds there are those that the program needs.
 */
const REHEARSALS = 4;

/** An interpreter in a kernel of gVisor's, which waits to become its one program. */
export class WaitingProgram {
  readonly #started: Started;
  readonly #prepared: PreparedInterpreter;
  readonly #input: InputPipe;
  readonly #stdout: FramedSource;
  readonly #stderr: FramedSource;
  #isUsed = false;
  #ended: Promise<unknown> | undefined;

  private constructor(started: Started, prepared: PreparedInterpreter, input: InputPipe) {
    const { output } = started.launcher;
    this.#started = started;
    this.#prepared = prepared;
    this.#input = input;
    this.#stdout = new FramedSource(output.stdout);
    this.#stderr = new FramedSource(output.stderr);
  }

  /** Resolves when the interpreter waits. Throws `SANDBOX_FAILED` when it does not come to that; nothing is left then. */
  static async in(
    started: Started,
    prepared: PreparedInterpreter,
    input: InputPipe,
  ): Promise<WaitingProgram> {
    const { launcher } = started;
    const waiting = new WaitingProgram(started, prepared, input);
    const timer = setTimeout(() => started.kill('SIGKILL'), READY_DEADLINE_MS);
    const over = launcher.exited.then(() => undefined);
    const said = await Promise.race([waiting.#ready(), over]);
    clearTimeout(timer);
    if (said !== READY) {
      await waiting.end();
      throw isolationFailed('no interpreter came to wait for the program');
    }
    started.refill();
    launcher.holdUs(false);
    return waiting;
  }

  /** What it said last, before or after going through what happens with its orders. */
  async #ready(): Promise<string | undefined> {
    const { rehearsal } = this.#prepared;
    let said = await this.#stdout.first(READY.length);
    for (let round = 0; rehearsal !== undefined && said === READY && round < REHEARSALS; round++) {
      this.#input.writable.write(rehearsal);
      said = await this.#stdout.first(READY.length);
    }
    return said;
  }

  /** Makes it the program; its code may be what was written last. Throws `SANDBOX_FAILED` for a second one, and for any but the one that it waits for. */
  become(command: Command, written?: WrittenFile): GuestProcess {
    if (this.#isUsed || this.#ended !== undefined) throw usedTwice();
    const { env, stdin } = command;
    const orders = {
      ...{ argv: programArguments(command, this.#prepared), env },
      stdin: stdin instanceof Uint8Array ? { bytes: stdin.byteLength } : stdin !== undefined,
      ...(written?.path === this.#prepared.file && isUtf8(written.data)
        ? { code: Buffer.from(written.data).toString() }
        : {}),
    };
    const { writable } = this.#input;
    this.#isUsed = true;
    this.#started.launcher.holdUs(true);
    writable.write(this.#prepared.encode(orders));
    // While it wakes up.
    this.#started.countAnew();
    if (stdin === undefined) writable.end();
    else if (stdin !== 'stream') writable.end(stdin);
    return {
      ...(stdin === 'stream' ? { stdin: writable } : {}),
      stdout: this.#stdout,
      stderr: this.#stderr,
      exit: this.#exit(),
      kill: (signal) => this.#started.kill(signal),
      signalsComeLate: true,
    };
  }

  /** Ends it, or what is left of what it became; resolves when all of it is gone. */
  async end(): Promise<void> {
    this.#ended ??= this.#started.tearDown();
    await this.#ended.catch(() => {});
    this.#stdout.destroy();
    this.#stderr.destroy();
    this.#input.destroy();
  }

  /** The first process inside says how the program ended; where nobody listens to it, the end of all tells. */
  async #exit(): Promise<Exit> {
    const over = this.#started.launcher.exited.then(() => undefined);
    const said = Promise.all([this.#stdout.ended, this.#stderr.ended]);
    const end = await Promise.race([said.then(([first, second]) => first ?? second ?? over), over]);
    if (end === undefined) {
      const exit = this.#started.end(async () => {});
      this.#ended ??= exit;
      return exit.finally(() => this.#input.destroy());
    }
    const exit = this.#started.describe(codeOf(end.status));
    void this.end();
    return exit;
  }
}
