import { randomUUID } from 'node:crypto';
import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { SandboxError } from '../../errors.ts';
import { LANGUAGE_NAMES } from '../../languages/language.ts';
import { READY } from '../../languages/waiting/waiting.ts';
import { WRITABLE } from '../host/furniture.ts';
import { notStarted } from '../host/hostGuest.ts';
import { readHostView } from '../host/hostView.ts';
import type { FoundInterpreters } from '../host/interpreters.ts';
import { leftIn, openInputPipe } from '../host/pipes.ts';
import { ownerOtherThanUs } from '../host/sandboxUser.ts';
import { writeVisible } from '../host/visible.ts';
import {
  type PreparedInterpreter,
  prepareInterpreter,
  programArguments,
  suitsWaiting,
  usedTwice,
  wishedWaiting,
} from '../host/waitingInterpreter.ts';
import type { Command, Exit, GuestProcess, SandboxSpec, WarmWish } from '../runtime.ts';
import { NOTHING } from './arguments.ts';
import { BubblewrapGuest } from './guest.ts';
import { type BubblewrapParts, type LaunchedProgram, launchProgram } from './program.ts';

/** How long an interpreter may take to start. */
const DEADLINE_MS = 20_000;

/** What there is while an interpreter waits. */
interface Prepared {
  readonly program: LaunchedProgram;
  readonly interpreter: PreparedInterpreter;
}

/** What is wished, where an interpreter can wait for it here. */
export function whoCanWait(spec: SandboxSpec, interpreters: FoundInterpreters): WarmWish | undefined {
  const warm = wishedWaiting(spec, LANGUAGE_NAMES);
  const found = warm && interpreters.get(warm.language);
  if (warm === undefined || found === undefined || found instanceof SandboxError) return undefined;
  const hasPlace = warm.language !== 'javascript' || preloadPlace(readHostView().hiddenProc) !== undefined;
  return hasPlace ? warm : undefined;
}

/**
 * A sandbox for one program, whose interpreter was started with the sandbox. Its namespaces, limits and files are made
 * by the very code that makes them for a program that starts cold; what it waits on is its standard input, and what comes
 * there after the orders is the program's own.
 */
export class WaitingGuest extends BubblewrapGuest {
  readonly warmedBy = 'waiting_interpreter';
  readonly #parts: BubblewrapParts;
  readonly #input: Socket;
  #launched: LaunchedProgram | undefined;
  #prepared: Prepared | undefined;

  private constructor(parts: BubblewrapParts) {
    super(parts);
    this.#parts = parts;
    const { first, user } = parts.stage;
    this.#input = openInputPipe(first.launcher.child.pid as number, ownerOtherThanUs(user));
  }

  /**
   * Resolves when the interpreter waits, in a stage whose first process has a pipe for its standard input. Throws
   * `SANDBOX_FAILED` when it does not come to wait; nothing is left then.
   */
  static async open(parts: BubblewrapParts, wish: WarmWish): Promise<WaitingGuest> {
    const guest = new WaitingGuest(parts);
    try {
      guest.#prepared = await guest.#prepare(wish);
      return guest;
    } catch (error) {
      await guest.destroy();
      throw error;
    }
  }

  async #prepare(wish: WarmWish): Promise<Prepared> {
    const place = preloadPlace(this.#parts.host.hiddenProc);
    const interpreter = await prepareInterpreter(this, wish, place);
    const { argv, env, code, preload, file } = interpreter;
    if (code !== undefined) await this.writeFile(file, Buffer.from(code));
    if (preload !== undefined) this.#fillNothing(preload);
    const program = await launchProgram(this.#parts, await this.prepareStart({ argv, env }));
    this.#launched = program;
    await untilReady(program);
    if (preload !== undefined) this.#fillNothing('');
    if (code !== undefined) await this.removeFile(file);
    program.countAnew();
    program.launcher.holdUs(false);
    return { program, interpreter };
  }

  protected override async start(command: Command): Promise<GuestProcess> {
    const { program, args, interpreter } = this.#take(command);
    const { output } = program.launcher;
    const input = this.#input;
    program.launcher.holdUs(true);
    const stdin = interpreter.opensInput ? this.#putInput(command.stdin) : command.stdin !== undefined;
    // The folder is what bubblewrap says it is to whoever it starts there.
    const env = { ...command.env, PWD: this.workspace };
    input.write(interpreter.encode({ argv: args, env, stdin }));
    if (stdin === true && command.stdin instanceof Uint8Array) input.write(command.stdin);
    if (command.stdin !== 'stream') input.end();
    const end = async (): Promise<Exit> => {
      try {
        return await program.exit();
      } finally {
        // Others of its tree may hold them open until they have ended, too.
        output.stdout.finish();
        output.stderr.finish();
        input.destroy();
      }
    };
    return {
      ...(command.stdin === 'stream' ? { stdin: input } : {}),
      stdout: output.stdout,
      stderr: output.stderr,
      exit: end(),
      kill: (signal) => program.kill(signal),
    };
  }

  /** Given input is a file, as for a program that starts cold; whoever opens it removes its name. */
  #putInput(stdin: Command['stdin']): string | boolean {
    if (!(stdin instanceof Uint8Array)) return stdin !== undefined;
    const name = `stdin-${randomUUID()}`;
    try {
      writeVisible(this.#parts.stage.folder.entry(`tmp/${name}`), stdin);
    } catch (error) {
      throw notStarted(error);
    }
    return `${WRITABLE.tmp}/${name}`;
  }

  /** The program for this command, whose arguments are told. Throws for any other than the one that was prepared. */
  #take(command: Command): Prepared & { readonly args: readonly string[] } {
    const prepared = this.#prepared;
    if (prepared === undefined || !suitsWaiting(command, this.#parts.spec)) throw usedTwice();
    if (!prepared.program.launcher.isWaiting) throw cannot('the interpreter that waited has ended');
    const args = programArguments(command, prepared.interpreter);
    this.#prepared = undefined;
    return { ...prepared, args };
  }

  protected override async release(): Promise<void> {
    const program = this.#launched;
    if (program !== undefined) {
      program.launcher.holdUs(true);
      await program.kill('SIGKILL');
      await program.untilGone();
      await program.endGroup();
      if (this.#prepared !== undefined) program.launcher.output.destroy();
    }
    this.#input.destroy();
    await super.release();
  }

  /**
   * The empty file that is shown in place of what `/proc` tells of others. While the interpreter starts it holds what that
   * loads first: so every path inside is what it is in any other sandbox, before the program begins and after.
   */
  #fillNothing(text: string): void {
    const path = this.#parts.stage.folder.entry(NOTHING);
    // Not writable inside in any case: it is bound for reading only.
    chmodSync(path, 0o644);
    if (text === '') truncateSync(path);
    else writeFileSync(path, text);
    chmodSync(path, 0o444);
  }
}

/** Where the empty file is shown. */
function preloadPlace(hidden: readonly string[]): string | undefined {
  return hidden[0];
}

/** Takes the line that it says so with off its output: nothing but a script of ours runs until then. */
async function untilReady(program: LaunchedProgram): Promise<void> {
  const { output } = program.launcher;
  const late = setTimeout(() => void program.kill('SIGKILL'), DEADLINE_MS);
  try {
    const said = await output.stdout.take();
    if (said !== undefined && Buffer.from(said).toString('latin1') === READY) return;
    const why = (await leftIn(output.stderr)) || 'it said nothing';
    throw cannot(`its interpreter did not come to wait: ${why}`);
  } finally {
    clearTimeout(late);
  }
}

function cannot(why: string): SandboxError {
  return new SandboxError('SANDBOX_FAILED', `This sandbox cannot start the program: ${why}.`, {
    hint: 'Make another sandbox for it.',
  });
}
