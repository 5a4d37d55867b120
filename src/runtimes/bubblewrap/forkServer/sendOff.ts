/** The ways in which a program that waits is told what to become. */
import { randomUUID } from 'node:crypto';
import type { Folder } from '../../host/folder.ts';
import { WRITABLE } from '../../host/furniture.ts';
import { assertRoom } from '../../host/room.ts';
import type { PreparedInterpreter } from '../../host/waitingInterpreter.ts';
import type { Command } from '../../runtime.ts';
import type { ForkedProgram } from './forkedProgram.ts';
import { programOrders } from './protocol.ts';

/** The one program, once it is known. */
export interface Program {
  readonly argv: Command['argv'];
  readonly env: Command['env'];
  readonly stdin: Command['stdin'] | undefined;
  /** Its own arguments, which are the last ones of `argv`. */
  readonly args: readonly string[];
  /** What is put into the workspace first, by path in it. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/**
 * Gives it its orders. Throws `INPUT_INVALID` for a NUL in a word, and `SANDBOX_FAILED` for what finds no room; nothing has
 * happened then.
 */
export type SendOff = (program: Program) => void;

/** To the Python that was forked, which runs the program itself, or becomes another interpreter that does. */
export function sendOffForked(forked: ForkedProgram, becomes: 'python' | 'command'): SendOff {
  return ({ argv, args, env, stdin, files }) => {
    forked.orders.write(
      programOrders({ ...{ stdin, becomes, args: becomes === 'python' ? args : argv }, env, files }),
    );
    forked.orders.end();
    if (stdin !== 'stream') forked.input.end();
  };
}

/**
 * To an interpreter that it has become already, and that reads its orders where its program's input will come; `folder` is
 * the root of its file system.
 */
export function sendOffWaiting(
  forked: ForkedProgram,
  interpreter: PreparedInterpreter,
  folder: Folder,
): SendOff {
  return ({ args, env, stdin, files }) => {
    const input = stdin instanceof Uint8Array ? `${WRITABLE.tmp}/stdin-${randomUUID()}` : undefined;
    const contents: (readonly [path: string, content: Uint8Array])[] = [...files].map(([path, content]) => [
      `${WRITABLE.workspace}/${path}`,
      content,
    ]);
    if (stdin instanceof Uint8Array && input !== undefined) contents.push([input, stdin]);
    assertRoom(
      folder.self,
      contents.map(([, content]) => content),
    );
    const orders = interpreter.encode({
      ...{ argv: args, env, stdin: input ?? stdin !== undefined },
      files: contents.map(([path, { byteLength }]) => [path, byteLength]),
    });
    forked.input.write([orders, ...contents.map(([, content]) => content)]);
    if (stdin !== 'stream') forked.input.end();
  };
}
