/** What the tests of contexts share: a guest of a runtime, contexts in it, and their end. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageName } from '../../src/languages/language.ts';
import type { Guest } from '../../src/runtimes/runtime.ts';
import { type CellOutcome, type CellRequest, LanguageContext } from '../../src/sandbox/context.ts';
import type { Target } from '../support/targets.ts';

/** Namespaces are the same code under either name. */
export const isOfItsOwnKind = ({ name }: Target): boolean => name !== 'local with namespaces';

export interface GuestLimits {
  readonly memoryMb?: number;
  readonly processes?: number;
}

/** A guest for all languages, without a network where there can be none. */
export function makeGuest({ runtime, capabilities }: Target, limits: GuestLimits = {}): Promise<Guest> {
  const limit = (value: number) => ({ value, default: true });
  return runtime.create({
    id: randomBytes(6).toString('hex'),
    policy: {
      network: capabilities.network.includes('none') ? 'none' : 'open',
      networkIsDefault: true,
      requires: {},
      limits: {
        memoryMb: limit(limits.memoryMb ?? 512),
        diskMb: limit(64),
        processes: limit(limits.processes ?? 64),
        timeoutSec: limit(60),
      },
    },
    languages: ['python', 'javascript', 'shell'],
  });
}

export interface Use {
  readonly guest: Guest;
  readonly context: LanguageContext;
  /** Runs a cell, with room and time enough unless it says otherwise. */
  run(code: string, options?: Partial<CellRequest>): Promise<CellOutcome>;
  /** The standard output of a cell, which must succeed. */
  print(code: string): Promise<string>;
}

/** A context in a guest of its own, closed and destroyed in the end. */
export async function withContext<T>(
  target: Target,
  language: LanguageName,
  use: (use: Use) => Promise<T>,
  limits: GuestLimits = {},
): Promise<T> {
  const guest = await makeGuest(target, limits);
  try {
    const context = await LanguageContext.create(guest, { language });
    try {
      return await use({ guest, context, ...shorthands(context) });
    } finally {
      await context.close();
    }
  } finally {
    await guest.destroy();
  }
}

/** From now on it says that an interrupt was sent when it is still on its way, as gVisor does under load. */
export function delayInterrupts(guest: Guest, delayMs: number, late: Promise<void>[]): void {
  const spawn = guest.spawn.bind(guest);
  guest.spawn = async (command) => {
    const process = await spawn(command);
    return {
      ...process,
      signalsComeLate: true,
      kill: async (signal) => {
        if (signal !== 'SIGINT') return process.kill(signal);
        late.push(delay(delayMs).then(() => process.kill('SIGINT')));
      },
    };
  };
}

/** The short ways to run a cell. */
export function shorthands(context: LanguageContext): Pick<Use, 'run' | 'print'> {
  const run: Use['run'] = (code, options) =>
    context.execute({ code, timeoutSec: 30, maxOutputBytes: 10_000, ...options });
  return {
    run,
    async print(code) {
      const { outcome, exitCode, stdout, stderr } = await run(code);
      if (outcome !== 'exited' || exitCode !== 0) throw new Error(`${outcome} ${exitCode}: ${stderr.text}`);
      return stdout.text;
    },
  };
}

/** Code that says the same in each language. */
export const SAYINGS: Readonly<Record<LanguageName, Saying>> = {
  python: {
    remember: 'x = 41',
    recall: 'print(x + 1)',
    fail: 'raise ValueError("no")',
    // In one piece, since Python writes the end of a line by itself.
    hang: 'print("begun\\n", end="")\nimport time\ntime.sleep(100)',
    busy: 'print("begun\\n", end="")\nwhile True: pass',
    stubborn: 'import time\nwhile True:\n  try: time.sleep(100)\n  except BaseException: pass',
    echo: (text) => `print(${JSON.stringify(text)})`,
    flood: 'import sys\nblock = "x" * 65535 + "\\n"\nfor _ in range(3200): sys.stdout.write(block)',
    readInput: 'import sys\nprint(repr(sys.stdin.read()))',
    suicide: 'import os\nprint("last words")\nos.kill(os.getpid(), 9)',
    children: 'import os\nos.system("echo to stdout; echo to stderr >&2")',
  },
  javascript: {
    remember: 'let x = 41',
    recall: 'console.log(x + 1)',
    fail: 'throw new TypeError("no")',
    hang: 'console.log("begun"); await new Promise((resolve) => setTimeout(resolve, 100_000))',
    busy: 'console.log("begun"); while (true);',
    stubborn: `require('child_process').spawnSync('sh', ['-c', 'trap "" INT; while :; do :; done'])`,
    echo: (text) => `console.log(${JSON.stringify(text)})`,
    flood: 'const block = "x".repeat(65535); for (let i = 0; i < 3200; i++) console.log(block)',
    readInput: 'console.log(JSON.stringify(require("fs").readFileSync(0, "utf8")))',
    suicide: 'console.log("last words"); process.kill(process.pid, "SIGKILL"); while (true);',
    children:
      'void require("child_process").execSync("echo to stdout; echo to stderr >&2", { stdio: "inherit" })',
  },
  shell: {
    remember: 'x=41',
    recall: 'echo $((x + 1))',
    fail: 'no-such-command',
    hang: 'echo begun; sleep 100',
    busy: 'echo begun; while :; do :; done',
    stubborn: "trap '' INT; while :; do :; done",
    echo: (text) => `echo '${text}'`,
    flood: 'head -c 209715200 /dev/zero',
    readInput: 'cat; read -r line; echo "$?"',
    suicide: 'echo last words; kill -9 $$',
    children: 'bash -c "echo to stdout; echo to stderr >&2"',
  },
};

export interface Saying {
  readonly remember: string;
  readonly recall: string;
  readonly fail: string;
  /** Says `begun` and waits. */
  readonly hang: string;
  /** Says `begun` and computes. */
  readonly busy: string;
  /** Does not heed an interrupt. */
  readonly stubborn: string;
  echo(text: string): string;
  /** 200 MB. */
  readonly flood: string;
  readonly readInput: string;
  readonly suicide: string;
  readonly children: string;
}
