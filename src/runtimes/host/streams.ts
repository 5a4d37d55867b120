import type { Writable } from 'node:stream';
import type { ByteSource } from '../runtime.ts';
import { createInput, createOutputPipes, type OutputPipes, type StreamOwner } from './pipes.ts';

/** The three standard streams of one program. */
export interface StandardStreams {
  readonly stdin?: Writable;
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** The first three entries of the child's `stdio`. */
  readonly stdio: readonly [number | 'ignore', number, number];
  /** To be called once the child is started. */
  closeChildEnds(): void;
  /** Gives up on all of them, for a program that was never started. */
  destroy(): void;
}

/** Supplies the streams of a guest's programs, the first program's output ahead of time. */
export class StreamSupply {
  readonly #owner: StreamOwner | undefined;
  #next: Promise<OutputPipes> | undefined;

  constructor(owner?: StreamOwner) {
    this.#owner = owner;
    this.#next = createOutputPipes(owner);
    // Looked at when it is taken or closed; until then a failure is not an unhandled one.
    this.#next.catch(() => {});
  }

  async take(stdin: Uint8Array | 'stream' | undefined): Promise<StandardStreams> {
    const next = this.#next ?? createOutputPipes(this.#owner);
    this.#next = undefined;
    const output = await next;
    try {
      const input = await createInput(stdin, this.#owner);
      return {
        ...(input.stdin ? { stdin: input.stdin } : {}),
        stdout: output.stdout,
        stderr: output.stderr,
        stdio: [input.child, output.child.stdout, output.child.stderr],
        closeChildEnds() {
          input.closeChildEnd();
          output.closeChildEnds();
        },
        destroy() {
          input.destroy();
          output.destroy();
        },
      };
    } catch (error) {
      output.destroy();
      throw error;
    }
  }

  /** Closes what was made ahead and never taken. */
  async close(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    await next?.then(
      (output) => output.destroy(),
      () => {},
    );
  }
}
