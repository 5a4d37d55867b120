/** Programs that could tell whether their interpreter has waited for them, cold and warm, in the sandboxes that there are. */
import { afterAll, describe, it } from 'vitest';
import { findLanguage } from '../../src/languages/index.ts';
import type { LanguageName } from '../../src/languages/language.ts';
import type { Policy } from '../../src/policy/policy.ts';
import type { Guest, Runtime } from '../../src/runtimes/runtime.ts';
import { Programs } from '../../src/sandbox/programs.ts';
import { turns } from '../contract/holdToContract.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';
import { masked } from './corpus/masked.ts';
import { type CorpusProgram, readCorpus } from './corpus/readCorpus.ts';

const AT_A_TIME = 4;
const TIMEOUT_SEC = 60;
const MAX_OUTPUT_BYTES = 8_000_000;
/** A program may wait for its turn. */
const TEST_TIMEOUT_MS = 300_000;
/** One is shown the whole corpus; the others are shown one program of so many, as engines take long to make a sandbox. */
const IN_FULL = 'bubblewrap';
/** So many programs are also run where somebody waited for the sandbox itself, in which nothing was rehearsed then. */
const ONE_AWAITED_OF = 5;
const ONE_OF = { process: 10, namespace: 10, container: 40, kernel: 40, machine: 40 } as const;

const POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    ...{ memoryMb: { value: 512, default: true }, diskMb: { value: 64, default: true } },
    ...{ processes: { value: 64, default: true }, timeoutSec: { value: TIMEOUT_SEC, default: true } },
  },
  requires: {},
};

type Heat = 'cold' | 'warm' | 'awaited';

const takeTurn = turns(AT_A_TIME);
let made = 0;

for (const target of TARGETS) {
  for (const language of ['python', 'javascript', 'shell'] as const) {
    if (!canWait(target, language)) continue;
    describe.concurrent(`${target.name}: a program in ${language} cannot tell that it was warmed`, () => {
      const step = target.name === IN_FULL ? 1 : ONE_OF[target.capabilities.isolation];
      const programs = readCorpus(language).filter((_, index) => index % step === 0);
      for (const [index, program] of programs.entries()) {
        it(program.name, { timeout: TEST_TIMEOUT_MS }, ({ expect }) =>
          takeTurn(async () => {
            const cold = await run(target.runtime, language, program, 'cold');
            const warm = await run(target.runtime, language, program, 'warm');
            // One that differs from itself says nothing.
            if (!isSame(warm, cold))
              expect(await run(target.runtime, language, program, 'cold')).toEqual(cold);
            expect(warm).toEqual(cold);
            if (index % ONE_AWAITED_OF !== 0) return;
            expect(await run(target.runtime, language, program, 'awaited')).toEqual(cold);
          }),
        );
      }
    });
  }
}
describeMissing('warm as cold');

afterAll(() => Promise.all(TARGETS.map(({ runtime }) => runtime.rest?.())));

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Where this does not hold, no interpreter is ever made to wait (docs/warm.md); where it does, none that waits is a failure. */
function canWait({ name, capabilities: { isolation } }: Target, language: LanguageName): boolean {
  return isolation !== 'process' && (language === 'python' || !name.startsWith('docker'));
}

async function createGuest(runtime: Runtime, language: LanguageName, heat: Heat): Promise<Guest> {
  return runtime.create({
    ...{ id: `heat${process.pid}x${++made}`, policy: POLICY, languages: [language], singleUse: true },
    ...(heat === 'cold' ? {} : { warm: { language, preload: [], isAwaited: heat === 'awaited' } }),
  });
}

async function run(
  runtime: Runtime,
  language: LanguageName,
  program: CorpusProgram,
  heat: Heat,
): Promise<object> {
  const guest = await createGuest(runtime, language, heat);
  try {
    const lifetime = new AbortController().signal;
    const programs = new Programs({ guest, policy: POLICY, lifetime, maxFileBytes: 0 });
    const { outcome, exitCode, signal, stdout, stderr } = await programs.run({
      run: { code: program.code, language: findLanguage(language) },
      ...{ args: program.args, env: program.env, collect: [], maxOutputBytes: MAX_OUTPUT_BYTES },
      timeoutSec: TIMEOUT_SEC,
      ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
      files: Object.fromEntries(
        Object.entries(program.files).map(([path, content]) => [path, Buffer.from(content)]),
      ),
    });
    return {
      ...{ outcome, exitCode, signal, asWished: (heat !== 'cold') === (guest.warmedBy !== undefined) },
      ...{ out: masked(stdout.text), err: masked(stderr.text) },
    };
  } finally {
    await guest.destroy();
  }
}
