import type { Socket } from 'node:net';
import { FramedSource } from '../host/init/framedSource.ts';
import { READY, READY_DEADLINE_MS, usedTwice, writeWaitingOrders } from '../host/waitingInterpreter.ts';
import { codeOf } from '../host/waitStatus.ts';
import type { Command, Exit, GuestProcess } from '../runtime.ts';
import { isolationFailed, type Started } from './started.ts';

/** An interpreter in a kernel of gVisor's, which waits to become its one program. */
export class WaitingProgram {
  readonly #started: Started;
  readonly #stdout: FramedSource;
  readonly #stderr: FramedSource;
  #isUsed = false;
  #ended: Promise<unknown> | undefined;

  private constructor(started: Started) {
    const { output } = started.launcher;
    this.#started = started;
    this.#stdout = new FramedSource(output.stdout);
    this.#stderr = new FramedSource(output.stderr);
  }

  /** Resolves when the interpreter waits. Throws `SANDBOX_FAILED` when it does not come to that; nothing is left then. */
  static async in(started: Started): Promise<WaitingProgram> {
    const { launcher } = started;
    const waiting = new WaitingProgram(started);
    const timer = setTimeout(() => started.kill('SIGKILL'), READY_DEADLINE_MS);
    const over = launcher.exited.then(() => undefined);
    const said = await Promise.race([waiting.#stdout.first(READY.length), over]);
    clearTimeout(timer);
    if (said !== READY) {
      await waiting.end();
      throw isolationFailed('no interpreter came to wait for the program');
    }
    launcher.hold('unref');
    return waiting;
  }

  /** Makes it the program with these arguments. Throws `SANDBOX_FAILED` for a second one. */
  become(command: Command, args: readonly string[]): GuestProcess {
    if (this.#isUsed || this.#ended !== undefined) throw usedTwice();
    this.#isUsed = true;
    const { launcher } = this.#started;
    launcher.hold('ref');
    this.#started.countAnew();
    const input = launcher.child.stdin as Socket;
    // EPIPE: it has ended, which its exit tells.
    input.on('error', () => {});
    input.write(writeWaitingOrders(command, args));
    if (command.stdin === undefined) input.end();
    else if (command.stdin !== 'stream') input.end(command.stdin);
    return {
      ...(command.stdin === 'stream' ? { stdin: input } : {}),
      stdout: this.#stdout,
      stderr: this.#stderr,
      exit: this.#exit(),
      kill: (signal) => this.#started.kill(signal),
    };
  }

  /** Ends it, or what is left of what it became; resolves when all of it is gone. */
  async end(): Promise<void> {
    this.#ended ??= this.#started.tearDown();
    await this.#ended.catch(() => {});
    this.#stdout.destroy();
    this.#stderr.destroy();
  }

  /** The first process inside says how the program ended; where nobody listens to it, the end of all tells. */
  async #exit(): Promise<Exit> {
    const over = this.#started.launcher.exited.then(() => undefined);
    const said = Promise.all([this.#stdout.ended, this.#stderr.ended]);
    const end = await Promise.race([said.then(([first, second]) => first ?? second ?? over), over]);
    if (end === undefined) {
      const exit = this.#started.end(async () => {});
      this.#ended ??= exit;
      return exit;
    }
    const exit = this.#started.describe(codeOf(end.status));
    this.#ended ??= this.#started.tearDown();
    this.#ended.catch(() => {});
    return exit;
  }
}
