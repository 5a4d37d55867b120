/** An interpreter that waits in an engine's sandbox: what it is started with, and what it is told. Pure. */
import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import type { LanguageName } from '../../languages/language.ts';
import { BECOME_MAIN } from '../../languages/waiting/becomeMain.ts';
import { WAIT_FOR_ORDERS } from '../../languages/waiting/waitForOrders.ts';
import type { Command, SandboxSpec, WarmWish } from '../runtime.ts';

/** What it says on standard output when it waits. */
export const READY = '\x06';

/** How long it may take until it waits: imports of its own, on a kernel of its own, on a busy machine. */
export const READY_DEADLINE_MS = 60_000;

/** The wish for one, where there is one for the language. */
export function wishedWaiting({ warm, relay }: SandboxSpec): WarmWish | undefined {
  return warm?.language === 'python' && relay === undefined ? warm : undefined;
}

/**
 * The file that it starts from: in the place of the program's, so that it is started as the program would be, and gone
 * before it says that it waits.
 */
export function waitingFile({ language, preload }: WarmWish): [path: string, content: Uint8Array] {
  const end = `import os\nos._exit(wait_for_orders(${JSON.stringify(preload)}))\n`;
  const source = [BECOME_MAIN, WAIT_FOR_ORDERS, end].join('\n');
  return [findLanguage(language).fileName, Buffer.from(source)];
}

/** The command that starts it. */
export function waitingCommand(
  { language }: Pick<WarmWish, 'language'>,
  interpreter: string,
  workspace: string,
): readonly [string, ...string[]] {
  const { command, fileName } = findLanguage(language);
  return command(interpreter, `${workspace}/${fileName}`, []);
}

/** False for a program with limits or a network of its own, which nothing that waits already can be given. */
export function suitsWaiting({ limits, relay }: Command): boolean {
  return limits === undefined && relay === undefined;
}

/** The program's own arguments. Throws `SANDBOX_FAILED` for what is no program of that language in the usual place. */
export function programArguments(
  argv: readonly string[],
  at: { readonly language: LanguageName; readonly interpreter: string; readonly workspace: string },
): readonly string[] {
  const expected = waitingCommand(at, at.interpreter, at.workspace);
  if (expected.every((word, index) => argv[index] === word)) return argv.slice(expected.length);
  throw new SandboxError('SANDBOX_FAILED', `What waits for ${at.language} can become nothing else.`, {
    hint: 'This is a bug of Glovebox: please report it.',
  });
}

/** What is thrown for the second program of a sandbox that has room for one. */
export function usedTwice(): SandboxError {
  return new SandboxError('SANDBOX_FAILED', 'A sandbox for a single use was used twice.', {
    hint: 'This is a bug of Glovebox: please report it.',
  });
}

/**
 * What it reads on standard input: a length (four bytes, big-endian), as many bytes of JSON, and the content of the files
 * that it writes into the workspace. What follows is the program's own input.
 */
export function writeWaitingOrders(
  { env, stdin }: Pick<Command, 'env' | 'stdin'>,
  args: readonly string[],
  files: ReadonlyMap<string, Uint8Array> = new Map(),
): Buffer {
  const orders = {
    ...{ argv: args, env, stdin: stdin !== undefined },
    files: [...files].map(([path, { byteLength }]) => [path, byteLength]),
  };
  const text = Buffer.from(JSON.stringify(orders));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text, ...files.values()]);
}
