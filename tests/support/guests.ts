/** Guests as drivers make them, without what stands above, for tests of what drivers promise. */
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { LanguageName } from '../../src/languages/language.ts';
import type { NetworkMode, Policy } from '../../src/policy/policy.ts';
import type { Command, Exit, Guest, GuestProcess, Runtime, SandboxSpec } from '../../src/runtimes/runtime.ts';

const DEFAULT_LIMITS = { memoryMb: 256, diskMb: 32, processes: 64, timeoutSec: 30, cpu: 2 };

export interface GuestWish extends Partial<Pick<SandboxSpec, 'relay' | 'singleUse' | 'languages' | 'warm'>> {
  readonly network?: NetworkMode;
  readonly limits?: Partial<typeof DEFAULT_LIMITS>;
}

let made = 0;

/** A guest that is gone when the test is over. */
export async function openGuest(runtime: Runtime, wish: GuestWish = {}): Promise<Guest> {
  const { network, limits, languages = ['python', 'shell'], ...rest } = wish;
  const wanted = Object.fromEntries(
    Object.entries({ ...DEFAULT_LIMITS, ...limits }).map(([name, value]) => [name, { value, default: true }]),
  );
  const policy: Policy = {
    network: network ?? 'none',
    networkIsDefault: network === undefined,
    limits: wanted as unknown as Policy['limits'],
    requires: {},
  };
  made++;
  const guest = await runtime.create({ id: `test${process.pid}x${made}`, policy, languages, ...rest });
  onTestFinished(() => guest.destroy());
  return guest;
}

/** Starts code; the code file is a file of its own for each. */
export async function start(
  guest: Guest,
  language: LanguageName,
  code: string,
  command: Partial<Command> = {},
): Promise<GuestProcess> {
  const { path } = await guest.interpreter(language);
  return guest.spawn({ argv: [path, '-c', code], env: guest.environment, ...command });
}

/** Runs code to its end. */
export async function run(
  guest: Guest,
  language: LanguageName,
  code: string,
  command: Partial<Command> = {},
): Promise<Exit & { stdout: string; stderr: string }> {
  const program = await start(guest, language, code, command);
  const [stdout, stderr, exit] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    program.exit,
  ]);
  return { stdout, stderr, ...exit };
}

/** What a program prints, read as it comes. */
export function follow(program: GuestProcess): { until(wanted: string): Promise<void> } {
  let seen = '';
  let ended = false;
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  (async () => {
    for await (const chunk of program.stdout) {
      seen += Buffer.from(chunk).toString('utf8');
      tell();
    }
  })()
    .catch(() => {})
    .finally(() => {
      ended = true;
      tell();
    });
  return {
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (seen.includes(wanted)) resolve();
          else if (ended) reject(new Error(`The program ended and had printed ${JSON.stringify(seen)}.`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
  };
}
