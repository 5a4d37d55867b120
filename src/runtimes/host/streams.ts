import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { ByteSource } from '../runtime.ts';
import type { LaunchStep } from './launcher.ts';
import { createOutputPipes, type OutputPipes, type StreamOwner } from './pipes.ts';

/** The three standard streams of one program. */
export interface StandardStreams {
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** The first three entries of the child's `stdio`. */
  readonly stdio: readonly ['ignore' | 'pipe' | number, number, number];
  /** What the launcher has to do for them. */
  readonly steps: readonly LaunchStep[];
  /** To be called once the child is started; answers what to write the program's input to. */
  handOver(child: ChildProcess): { readonly stdin?: Writable };
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

  /** `scratch` is a folder in which given input may be written for a moment; it counts as the sandbox's own. */
  async take(stdin: Uint8Array | 'stream' | undefined, scratch: string): Promise<StandardStreams> {
    const next = this.#next ?? createOutputPipes(this.#owner);
    this.#next = undefined;
    const output = await next;
    const owner = this.#owner;
    try {
      const input = stdin === undefined ? 'ignore' : stdin === 'stream' ? 'pipe' : openInput(stdin, scratch);
      const closeChildEnds = (): void => {
        output.closeChildEnds();
        if (typeof input === 'number') closeSync(input);
      };
      return {
        stdout: output.stdout,
        stderr: output.stderr,
        stdio: [input, output.child.stdout, output.child.stderr],
        steps: input === 'pipe' ? [{ pipeInputFor: owner ? `${owner.uid}:${owner.gid}` : '' }] : [],
        handOver(child) {
          closeChildEnds();
          return child.stdin === null ? {} : { stdin: child.stdin };
        },
        destroy() {
          closeChildEnds();
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

/** A file, so that a program may open `/dev/stdin` again; its name is gone before the program starts. */
function openInput(data: Uint8Array, scratch: string): number {
  const path = `${scratch}/stdin-${randomUUID()}`;
  writeFileSync(path, data, { mode: 0o444, flag: 'wx' });
  try {
    return openSync(path, 'r');
  } finally {
    unlinkSync(path);
  }
}
