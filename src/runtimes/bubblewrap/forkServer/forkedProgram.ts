/** A program that was made ready by a fork server: our ends of its pipes, until it is sent off and until it has ended. */
import { closeSync, writeSync } from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { SandboxError } from '../../../errors.ts';
import type { Identity } from '../../host/namespaceInit.ts';
import { PipeSource } from '../../host/pipeSource.ts';
import { leftIn } from '../../host/pipes.ts';
import type { MadeChild } from './server.ts';

/** The program is in place, and waits. */
const READY = 'R'.charCodeAt(0);
/** A status of wait(2), as the keeper reports it. */
const STATUS_BYTES = 4;
/** What it waits for first. */
const GO = Buffer.from('go\n');
const NOTHING = new Uint8Array();
/** What an empty pipe takes at once, as a rule. */
const PIPE_BYTES = 64 * 1024;
/** How long a keeper may take to build its view. */
const READY_MS = 20_000;

export class ForkedProgram {
  readonly keeper: Identity;
  readonly stdout: PipeSource;
  readonly stderr: PipeSource;
  /** Resolves to the status that the keeper reported; to undefined when it ended without one. */
  readonly status: Promise<number | undefined>;
  #orders: number | undefined;
  /** Where orders did not fit into their pipe at once. */
  #rest: Socket | undefined;
  readonly #report: Socket;
  #heard: (bytes: Uint8Array) => void = () => {};
  #stdin: number | undefined;
  #ready: (isReady: boolean) => void = () => {};
  readonly #isReady: Promise<boolean>;

  constructor({ keeper, ends }: MadeChild) {
    this.keeper = keeper;
    this.stdout = new PipeSource(ends.stdout);
    this.stderr = new PipeSource(ends.stderr);
    this.#stdin = ends.stdin;
    this.#orders = ends.orders;
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
    this.#write(GO);
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
    const size = orders.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const [first = NOTHING, ...others] = size <= PIPE_BYTES ? [Buffer.concat(orders)] : orders;
    const left = [first.subarray(this.#write(first)), ...others].filter(({ byteLength }) => byteLength > 0);
    const descriptor = this.#orders;
    if (descriptor === undefined || left.length === 0) {
      this.#closeOrders();
      return;
    }
    this.#orders = undefined;
    const rest = new Socket({ fd: descriptor, readable: false, writable: true });
    // EPIPE: it has ended, which the report tells.
    rest.on('error', () => {});
    for (const piece of left) rest.write(piece);
    rest.end();
    this.#rest = rest;
  }

  /** How much of it the pipe took, which may be empty by now: all that fits is there when this returns. */
  #write(bytes: Uint8Array): number {
    try {
      return this.#orders === undefined ? 0 : writeSync(this.#orders, bytes);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // EPIPE: it has ended, which the report tells.
      if (code === 'EAGAIN' || code === 'EPIPE') return 0;
      throw error;
    }
  }

  #closeOrders(): void {
    if (this.#orders !== undefined) closeSync(this.#orders);
    this.#orders = undefined;
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
    this.#closeOrders();
    this.#rest?.destroy();
    this.#report.destroy();
    this.stdout.destroy();
    this.stderr.destroy();
  }

  #read(): Promise<number | undefined> {
    return new Promise((resolve) => {
      let said = Buffer.alloc(0);
      this.#heard = (bytes) => {
        said = Buffer.concat([said, bytes]);
        if (said[0] === READY) this.#ready(true);
        if (said.length > STATUS_BYTES) resolve(said.readInt32LE(1));
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
