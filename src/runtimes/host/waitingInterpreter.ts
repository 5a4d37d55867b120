/** An interpreter that waits in a sandbox of its own, from what it is started with to what it is told. Pure. */
import { SandboxError } from '../../errors.ts';
import { findLanguage } from '../../languages/index.ts';
import type { LanguageName } from '../../languages/language.ts';
import { type WaitingInterpreter, waitingInterpreter } from '../../languages/waiting/waiting.ts';
import type { Command, Guest, SandboxSpec, WarmWish } from '../runtime.ts';
import { assertFits } from './launch.ts';
import { refuseNul } from './launcher.ts';

/** How long it may take until it waits: imports of its own, on a kernel of its own, on a busy machine. */
export const READY_DEADLINE_MS = 60_000;

/** The wish for one, where it is for one of these languages. */
export function wishedWaiting(
  { warm, singleUse, relay }: SandboxSpec,
  languages: readonly LanguageName[],
): WarmWish | undefined {
  const isPossible = singleUse === true && relay === undefined;
  return isPossible && warm !== undefined && languages.includes(warm.language) ? warm : undefined;
}

/** One that was prepared for the guest of one sandbox. */
export interface PreparedInterpreter extends WaitingInterpreter {
  /** The path of the program's file in the workspace, where the code stands while it starts. */
  readonly file: string;
  /** The beginning of the one command that may come: all but the program's arguments. */
  readonly command: readonly string[];
}

/**
 * What starts one. `preload` is a file that no program looks into, where the language needs one. Throws
 * `LANGUAGE_UNAVAILABLE`.
 */
export async function prepareInterpreter(
  guest: Pick<Guest, 'workspace' | 'environment' | 'interpreter'>,
  { language: name, preload: modules }: WarmWish,
  preload = '',
): Promise<PreparedInterpreter> {
  const language = findLanguage(name);
  const { path: interpreter } = await guest.interpreter(name);
  const file = `${guest.workspace}/${language.fileName}`;
  const { environment } = guest;
  const waiting = waitingInterpreter(language, { interpreter, file, environment, modules, preload });
  return { ...waiting, file: language.fileName, command: language.command(interpreter, file, []) };
}

/** False for limits or a network of the program's own, which nothing that waits already can be given. */
export function suitsWaiting({ limits = {}, relay }: Command, { policy }: SandboxSpec): boolean {
  const { timeoutSec = 0, ...others } = limits;
  // What bounds the processor's time was set with the sandbox's own; the deadline is somebody else's.
  return (
    relay === undefined && Object.keys(others).length === 0 && timeoutSec <= policy.limits.timeoutSec.value
  );
}

/** The program's own arguments. Throws `SANDBOX_FAILED` for any command but the one that was prepared for. */
export function programArguments(
  { argv, env }: Command,
  { command }: Pick<PreparedInterpreter, 'command'>,
): string[] {
  if (command.some((word, index) => word !== argv[index])) {
    throw new SandboxError(
      'SANDBOX_FAILED',
      `This sandbox waits for ${command.join(' ')}, and nothing else.`,
      {
        hint: 'This is a bug of Glovebox: please report it.',
      },
    );
  }
  refuseNul([...argv, ...Object.entries(env).flat()]);
  assertFits(argv, env);
  return argv.slice(command.length);
}

/** What is thrown for another program than the one that a sandbox has room for. */
export function usedTwice(): SandboxError {
  return new SandboxError(
    'SANDBOX_FAILED',
    'A sandbox for a single use was used twice, or for another use.',
    {
      hint: 'This is a bug of Glovebox: please report it.',
    },
  );
}
