/** Guests in which an interpreter waits, and cold ones to compare them with. */
import { findLanguage } from '../../src/languages/index.ts';
import type { LanguageName } from '../../src/languages/language.ts';
import type { Policy } from '../../src/policy/policy.ts';
import type { Command, Guest, GuestProcess, Runtime, WarmWish } from '../../src/runtimes/runtime.ts';

export const LANGUAGES = ['python', 'javascript', 'shell'] as const;

const LIMITS = { memoryMb: 256, diskMb: 32, processes: 64, timeoutSec: 30, cpu: 2 };

let made = 0;

/** The caller destroys it. */
export function openWarm(
  runtime: Runtime,
  language: LanguageName,
  warm: boolean | WarmWish = true,
): Promise<Guest> {
  const limits = Object.fromEntries(
    Object.entries(LIMITS).map(([name, value]) => [name, { value, default: true }]),
  ) as unknown as Policy['limits'];
  made++;
  return runtime.create({
    id: `warm${process.pid}x${made}`,
    policy: { network: 'none', networkIsDefault: true, limits, requires: {} },
    languages: [language],
    singleUse: true,
    ...(warm === false ? {} : { warm: warm === true ? { language, preload: [] } : warm }),
  });
}

export type FileCommand = Partial<Pick<Command, 'env' | 'stdin' | 'limits'>> & {
  readonly args?: readonly string[];
};

/** Starts code as executions do: from the file of its language, which is written first. */
export async function startFile(
  guest: Guest,
  languageName: LanguageName,
  code: string,
  { args = [], env = {}, ...command }: FileCommand = {},
): Promise<GuestProcess> {
  const language = findLanguage(languageName);
  await guest.writeFile(language.fileName, Buffer.from(code));
  const { path } = await guest.interpreter(languageName);
  return guest.spawn({
    argv: language.command(path, `${guest.workspace}/${language.fileName}`, args),
    env: { ...guest.environment, ...env },
    ...command,
  });
}
