import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server. There are never more than `max`: for a new one that of those that ask for nothing is ended
 * that has been silent longest, so whoever opens many and says nothing keeps nobody out; only where every one waits for
 * an answer, the new one is.
 */
export class Connections {
  /** Those between requests, the one that has been so longest first. */
  readonly #idle = new Set<Socket>();
  readonly #busy = new Map<Socket, number>();
  readonly #max: number;
  #ending = false;

  constructor(server: Server, max: number) {
    this.#max = max;
    server.on('connection', (socket) => this.#admit(socket));
    server.prependListener('request', ({ socket }, response) => {
      this.#begin(socket);
      response.once('close', () => this.#end(socket));
    });
  }

  /** Ends those that ask for nothing, and each of the others once it has its answer. */
  endIdle(): void {
    this.#ending = true;
    for (const socket of this.#idle) socket.destroy();
  }

  /** Ends all of them. */
  endAll(): void {
    for (const socket of [...this.#idle, ...this.#busy.keys()]) socket.destroy();
  }

  #admit(socket: Socket): void {
    socket.once('close', () => {
      this.#idle.delete(socket);
      this.#busy.delete(socket);
    });
    this.#idle.add(socket);
    if (this.#idle.size + this.#busy.size <= this.#max) return;
    const [longest] = this.#idle;
    longest?.destroy();
    if (longest !== undefined) this.#idle.delete(longest);
  }

  #begin(socket: Socket): void {
    this.#idle.delete(socket);
    this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
  }

  /** What is sent one after the other without waiting is several requests at once. */
  #end(socket: Socket): void {
    const left = (this.#busy.get(socket) ?? 1) - 1;
    if (left > 0) this.#busy.set(socket, left);
    else this.#busy.delete(socket);
    if (left > 0 || socket.destroyed) return;
    if (this.#ending) socket.destroySoon();
    else this.#idle.add(socket);
  }
}
