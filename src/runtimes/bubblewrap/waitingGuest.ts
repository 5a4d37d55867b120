import { chmodSync, truncateSync, writeFileSync } from 'node:fs';
import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import { READY, type WaitingInterpreter, waitingInterpreter } from '../../languages/waiting/waiting.ts';
import { readHostView } from '../host/hostView.ts';
import type { FoundInterpreters } from '../host/interpreters.ts';
import { assertFits } from '../host/launch.ts';
import { refuseNul } from '../host/launcher.ts';
import { type InputPipe, leftIn } from '../host/pipes.ts';
import type { Command, Exit, GuestProcess, SandboxSpec, WarmWish } from '../runtime.ts';
import { NOTHING } from './arguments.ts';
import { BubblewrapGuest } from './guest.ts';
import { type BubblewrapParts, type LaunchedProgram, launchProgram } from './program.ts';

/** How long an interpreter may take to start. */
const DEADLINE_MS = 20_000;

/** What there is while an interpreter waits. */
interface Prepared {
  readonly program: LaunchedProgram;
  /** The beginning of the one command that may come: all but the program's arguments. */
  readonly command: readonly string[];
  readonly encode: WaitingInterpreter['encode'];
}

/** Whether an interpreter can wait here for what is wished. */
export function canWait({ warm, singleUse, relay }: SandboxSpec, interpreters: FoundInterpreters): boolean {
  if (warm === undefined || !singleUse || relay !== undefined) return false;
  const found = interpreters.get(warm.language);
  if (found === undefined || found instanceof SandboxError) return false;
  return warm.language !== 'javascript' || preloadPlace(readHostView().hiddenProc) !== undefined;
}

/**
 * A sandbox for one program, whose interpreter was started with the sandbox. Its namespaces, limits and files are made
 * by the very code that makes them for a program that starts cold; what it waits on is its standard input, and what comes
 * there after the orders is the program's own.
 */
export class WaitingGuest extends BubblewrapGuest {
  readonly warmedBy = 'waiting_interpreter';
  readonly #parts: BubblewrapParts;
  readonly #input: InputPipe;
  #launched: LaunchedProgram | undefined;
  #prepared: Prepared | undefined;

  private constructor(parts: BubblewrapParts, input: InputPipe) {
    super(parts);
    this.#parts = parts;
    this.#input = input;
  }

  /**
   * Resolves when the interpreter waits. `input` is the standard input of the stage's first process. Throws
   * `SANDBOX_FAILED` when it does not come to wait; nothing is left then.
   */
  static async open(parts: BubblewrapParts, wish: WarmWish, input: InputPipe): Promise<WaitingGuest> {
    const guest = new WaitingGuest(parts, input);
    try {
      guest.#prepared = await guest.#prepare(wish);
      return guest;
    } catch (error) {
      await guest.destroy();
      throw error;
    }
  }

  async #prepare({ language: name, preload: modules }: WarmWish): Promise<Prepared> {
    const language = findLanguage(name);
    const { path } = await this.interpreter(name);
    const file = `${this.workspace}/${language.fileName}`;
    const { argv, env, code, preload, encode } = waitingInterpreter(language, {
      interpreter: path,
      file,
      preload: preloadPlace(this.#parts.host.hiddenProc) ?? '',
      environment: this.environment,
      modules,
    });
    if (code !== undefined) await this.writeFile(file, Buffer.from(code));
    if (preload !== undefined) this.#fillNothing(preload);
    const program = await launchProgram(this.#parts, await this.prepareStart({ argv, env }));
    this.#launched = program;
    await untilReady(program);
    if (preload !== undefined) this.#fillNothing('');
    if (code !== undefined) await this.removeFile(file);
    program.countAnew();
    program.launcher.holdUs(false);
    return { program, command: language.command(path, file, []), encode };
  }

  protected override async start(command: Command): Promise<GuestProcess> {
    const { program, args, encode } = this.#take(command);
    const { output } = program.launcher;
    const { writable } = this.#input;
    program.launcher.holdUs(true);
    writable.write(encode({ argv: args, env: command.env, stdin: command.stdin !== undefined }));
    if (command.stdin === undefined) writable.end();
    else if (command.stdin !== 'stream') writable.end(command.stdin);
    const end = async (): Promise<Exit> => {
      try {
        return await program.exit();
      } finally {
        // Others of its tree may hold them open until they have ended, too.
        output.stdout.finish();
        output.stderr.finish();
        writable.destroy();
      }
    };
    return {
      ...(command.stdin === 'stream' ? { stdin: writable } : {}),
      stdout: output.stdout,
      stderr: output.stderr,
      exit: end(),
      kill: (signal) => program.kill(signal),
    };
  }

  /** The program for this command, whose arguments are told. Throws for any other than the one that was prepared. */
  #take({ argv, env, limits = {}, relay }: Command): Prepared & { readonly args: readonly string[] } {
    const prepared = this.#prepared;
    if (prepared === undefined) throw cannot('its one program has been started already');
    const { program, command } = prepared;
    if (!program.launcher.isWaiting) throw cannot('the interpreter that waited has ended');
    const { timeoutSec } = this.#parts.spec.policy.limits;
    const { timeoutSec: own = timeoutSec.value, ...others } = limits;
    if (relay !== undefined || Object.keys(others).length > 0 || own > timeoutSec.value)
      throw cannot('another network and other limits than the sandbox was made with are out of its reach');
    if (command.some((word, index) => word !== argv[index]))
      throw cannot(`it waits for ${command.join(' ')}, and not for ${argv.join(' ')}`);
    refuseNul([...argv, ...Object.entries(env).flat()]);
    assertFits(argv, env);
    this.#prepared = undefined;
    return { ...prepared, args: argv.slice(command.length) };
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
