/** A program that was made ready by a fork server: our ends of its pipes, until it is sent off and until it has ended. */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { SandboxError } from '../../../errors.ts';
import type { Identity } from '../../host/namespaceInit.ts';
import { PipeSource } from '../../host/pipeSource.ts';
import { leftIn } from '../../host/pipes.ts';
import type { MadeChild } from './server.ts';
import { WritablePipe } from './writablePipe.ts';

/** The program is in place, and waits. */
const READY = 'R'.charCodeAt(0);
/** It could not take its orders: nothing of it has begun. */
const NOT_BEGUN = 'F'.charCodeAt(0);
/** A status of wait(2), as the keeper reports it. */
const STATUS_BYTES = 4;
/** What it waits for first. */
const GO = Buffer.from('go\n');
/** How long a keeper may take to build its view. */
const READY_MS = 20_000;

export class ForkedProgram {
  readonly keeper: Identity;
  readonly stdout: PipeSource;
  readonly stderr: PipeSource;
  /**
   * Resolves to the status that the keeper reported; to undefined when it ended without one; to `not begun` when the
   * program's input or files found no room.
   */
  readonly status: Promise<number | 'not begun' | undefined>;
  readonly orders: WritablePipe;
  /** Its standard input. */
  readonly input: WritablePipe;
  readonly #report: Socket;
  #heard: (bytes: Uint8Array) => void = () => {};
  #ready: (isReady: boolean) => void = () => {};
  readonly #isReady: Promise<boolean>;

  constructor({ keeper, ends }: MadeChild) {
    this.keeper = keeper;
    this.stdout = new PipeSource(ends.stdout);
    this.stderr = new PipeSource(ends.stderr);
    this.input = new WritablePipe(ends.stdin);
    this.orders = new WritablePipe(ends.orders);
    // Of a few bytes, which need no large buffer: as the constructor takes it, though its types do not say so.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      ...{ fd: ends.report, readable: true, writable: false },
      onread: {
        buffer: Buffer.allocUnsafeSlow(1 + STATUS_BYTES),
        callback: (length, buffer) => {
          this.#heard(buffer.subarray(0, length));
          return true;
        },
      },
    };
    this.#report = new Socket(options);
    this.#isReady = new Promise((resolve) => {
      this.#ready = resolve;
    });
    this.status = this.#read();
    this.#report.unref();
  }

  /** Lets the keeper begin, once it is where it belongs; resolves when the program waits. Throws `SANDBOX_FAILED`. */
  async prepare(): Promise<void> {
    this.orders.write([GO]);
    const timer = setTimeout(() => this.#ready(false), READY_MS);
    const isReady = await this.#isReady.finally(() => clearTimeout(timer));
    if (isReady) return;
    throw new SandboxError(
      'SANDBOX_FAILED',
      `A forked sandbox could not be built: ${(await leftIn(this.stderr)) || 'no reason given'}`,
      { hint: 'Run: glovebox doctor' },
    );
  }

  /** From now on it is a reason for this process to go on. */
  hold(): void {
    this.#report.ref();
  }

  close(): void {
    this.input.close();
    this.orders.close();
    this.#report.destroy();
    this.stdout.destroy();
    this.stderr.destroy();
  }

  #read(): Promise<number | 'not begun' | undefined> {
    return new Promise((resolve) => {
      let said = Buffer.alloc(0);
      this.#heard = (bytes) => {
        said = Buffer.concat([said, bytes]);
        if (said[0] === READY) this.#ready(true);
        if (said[1] === NOT_BEGUN) resolve('not begun');
        else if (said.length > STATUS_BYTES) resolve(said.readInt32LE(1));
      };
      const ended = (): void => {
        this.#ready(false);
        resolve(undefined);
      };
      this.#report.once('close', ended);
      this.#report.once('error', ended);
    });
  }
}
