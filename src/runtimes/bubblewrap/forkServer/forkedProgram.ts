/** A program that was made ready by a fork server: our ends of its pipes, until it is sent off and until it has ended. */
import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { SandboxError } from '../../../errors.ts';
import type { Identity } from '../../host/namespaceInit.ts';
import { PipeSource } from '../../host/pipeSource.ts';
import { leftIn } from '../../host/pipes.ts';
import type { MadeChild } from './server.ts';

/** The program is in place, and waits. */
const READY = 'R'.charCodeAt(0);
/** A status of wait(2), as the keeper reports it. */
const STATUS_BYTES = 4;
/** How long a keeper may take to build its view. */
const READY_MS = 20_000;

export class ForkedProgram {
  readonly keeper: Identity;
  readonly stdout: PipeSource;
  readonly stderr: PipeSource;
  /** Resolves to the status that the keeper reported; to undefined when it ended without one. */
  readonly status: Promise<number | undefined>;
  readonly #orders: Socket;
  readonly #report: Socket;
  #stdin: number | undefined;
  #ready: (isReady: boolean) => void = () => {};
  readonly #isReady: Promise<boolean>;

  constructor({ keeper, ends }: MadeChild) {
    this.keeper = keeper;
    this.stdout = new PipeSource(ends.stdout);
    this.stderr = new PipeSource(ends.stderr);
    this.#stdin = ends.stdin;
    this.#orders = new Socket({ fd: ends.orders, readable: false, writable: true });
    // EPIPE: it has ended, which the report tells.
    this.#orders.on('error', () => {});
    this.#report = new Socket({ fd: ends.report, readable: true, writable: false });
    this.#isReady = new Promise((resolve) => {
      this.#ready = resolve;
    });
    this.status = this.#read();
    for (const socket of [this.#orders, this.#report]) socket.unref();
  }

  /** Lets the keeper begin, once it is where it belongs; resolves when the program waits. Throws `SANDBOX_FAILED`. */
  async prepare(): Promise<void> {
    this.#orders.write('go\n');
    const timer = setTimeout(() => this.#ready(false), READY_MS);
    const isReady = await this.#isReady.finally(() => clearTimeout(timer));
    if (isReady) return;
    throw new SandboxError(
      'SANDBOX_FAILED',
      `A forked sandbox could not be built: ${(await leftIn(this.stderr)) || 'no reason given'}`,
      { hint: 'Run: glovebox doctor' },
    );
  }

  /** Gives it its orders. */
  sendOff(orders: readonly Uint8Array[]): void {
    this.#report.ref();
    for (const piece of orders) this.#orders.write(piece);
    this.#orders.end();
  }

  /** The writable end of its standard input; the caller's from now on. */
  takeInput(): Socket {
    const descriptor = this.#stdin;
    if (descriptor === undefined) throw new Error('The input was taken or closed.');
    this.#stdin = undefined;
    return new Socket({ fd: descriptor, readable: false, writable: true });
  }

  closeInput(): void {
    if (this.#stdin !== undefined) closeSync(this.#stdin);
    this.#stdin = undefined;
  }

  close(): void {
    this.closeInput();
    this.#orders.destroy();
    this.#report.destroy();
    this.stdout.destroy();
    this.stderr.destroy();
  }

  #read(): Promise<number | undefined> {
    return new Promise((resolve) => {
      let said = Buffer.alloc(0);
      this.#report.on('data', (chunk) => {
        said = Buffer.concat([said, chunk]);
        if (said[0] === READY) this.#ready(true);
        if (said.length > STATUS_BYTES) resolve(said.readInt32LE(1));
      });
      const ended = (): void => {
        this.#ready(false);
        resolve(undefined);
      };
      this.#report.once('close', ended);
      this.#report.once('error', ended);
    });
  }
}
