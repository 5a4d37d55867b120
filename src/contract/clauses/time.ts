import { setTimeout as delay } from 'node:timers/promises';
import { isAtLeast } from '../../policy/isolation.ts';
import { type Box, describeEnd, newNonce, type Ran, until } from '../box.ts';
import type { Clause, ClauseContext } from '../clause.ts';
import { must, mustEqual } from '../expectations.ts';
import { pidsWithWord, TAKE_NAME } from '../hostView.ts';

/** How long after its limit a program may at most be there. */
const OVERTIME_SEC = 2.5;

/** How long the end of what is left of a warm program's tree may take, which is under way when there is the result. */
const LATE_END_MS = 2000;

export const TIME_CLAUSES: readonly Clause[] = [
  {
    id: 'deadline',
    promise: 'A program is ended at its deadline, and what it printed before is kept.',
    async check(context) {
      const box = await context.open();
      const timeoutSec = enoughToBegin(box);
      const ran = await box.python('import time\nprint("before", flush=True)\ntime.sleep(30)', {
        timeoutSec,
        onOutput: noted,
      });
      mustHaveTimedOut(ran, timeoutSec);
      mustEqual(ran.stdout, 'before\n', 'the output before the deadline');
    },
  },
  {
    id: 'deadline-handler',
    promise: 'At the deadline the program gets a SIGTERM, and what its handler prints is in the result.',
    async check(context) {
      const box = await context.open();
      const timeoutSec = enoughToBegin(box);
      const ran = await box.python(
        `import signal, sys, time
def last_words(*_):
    print("last words", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, last_words)
print("ready", flush=True)
time.sleep(30)`,
        { timeoutSec, onOutput: noted },
      );
      mustHaveTimedOut(ran, timeoutSec);
      mustEqual(ran.stdout, 'ready\nlast words\n', 'the output');
    },
  },
  {
    id: 'deadline-ignored',
    promise: 'A program that ignores every signal it can is ended in time, with all that it started.',
    async check(context) {
      const box = await context.open();
      await withFamily(box, { hidden: false, stays: true }, async (run, nonce) => {
        const ran = await run({ timeoutSec: 3 });
        mustHaveTimedOut(ran, 3);
        await mustBeGone(context, box, nonce);
      });
    },
  },
  {
    id: 'no-survivors',
    promise: 'Children, new sessions and orphans of a program are gone when its result is there.',
    async check(context) {
      const box = await context.open();
      await withFamily(box, { hidden: false, stays: false }, async (run, nonce) => {
        const ran = await run({});
        mustEqual([ran.outcome, ran.exitCode], ['exited', 0], 'the end of the program');
        await mustBeGone(context, box, nonce);
      });
    },
  },
  {
    id: 'no-hidden-survivors',
    promise: 'An orphan of another session with an empty environment is gone when the result is there.',
    claimedBy: ({ processes }) => processes === 'contained',
    asks: { requires: { processes: 'contained' } },
    async check(context) {
      const box = await context.open();
      await withFamily(box, { hidden: true, stays: false }, async (run, nonce) => {
        const ran = await run({});
        mustEqual([ran.outcome, ran.exitCode], ['exited', 0], 'the end of the program');
        await mustBeGone(context, box, nonce);
      });
      await withFamily(box, { hidden: true, stays: true }, async (run, nonce) => {
        mustHaveTimedOut(await run({ timeoutSec: 3 }), 3);
        await mustBeGone(context, box, nonce);
      });
    },
  },
  {
    id: 'cancelled',
    promise: 'Whoever cancels gets the result `cancelled` at once, and the program is gone.',
    async check(context) {
      const box = await context.open();
      const stop = new AbortController();
      const nonce = newNonce();
      let cancelledAt = 0;
      const ran = await box.python(
        `${TAKE_NAME}import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("before", flush=True)\ntime.sleep(30)`,
        {
          args: [nonce],
          signal: stop.signal,
          onOutput: () => {
            cancelledAt ||= performance.now();
            stop.abort();
          },
        },
      );
      mustEqual([ran.outcome, ran.exitCode, ran.stdout], ['cancelled', 130, 'before\n'], 'the end');
      const tookSec = (performance.now() - cancelledAt) / 1000;
      must(tookSec <= OVERTIME_SEC, `it took ${tookSec.toFixed(1)} s after it was cancelled`);
      await mustBeGone(context, box, nonce);
    },
  },
  {
    id: 'background-child',
    promise: 'A child that holds the output open does not hold up the result, and ends with it.',
    async check(context) {
      const box = await context.open();
      const nonce = newNonce();
      const ran = await box.python(
        `${TAKE_NAME}import os, time
if os.fork() == 0:
    time.sleep(20)
    os._exit(0)
print("done")`,
        { args: [nonce] },
      );
      mustEqual([ran.outcome, ran.exitCode, ran.stdout], ['exited', 0, 'done\n'], 'the end');
      must(ran.tookSec < 5, `the result took ${ran.tookSec.toFixed(1)} s`);
      await mustBeGone(context, box, nonce);
    },
  },
];

/** For programs that say at once that they run. */
function noted(): void {}

/** A deadline, in seconds, before which an interpreter has begun: that takes its time where each system call is traced. */
function enoughToBegin({ enforced }: Box): number {
  return isAtLeast(enforced.isolation, 'kernel') ? 4 : 1;
}

function mustHaveTimedOut(ran: Ran, limitSec: number): void {
  mustEqual([ran.outcome, ran.exitCode], ['timed_out', -1], `the end (${describeEnd(ran)})`);
  must(
    /timed out/.test(ran.stderr.trimEnd().split('\n').at(-1) ?? ''),
    `standard error ends with ${JSON.stringify(ran.stderr.slice(-100))} and does not say "timed out"`,
  );
  must(ran.tookSec >= limitSec, `it took ${ran.tookSec.toFixed(2)} s with a limit of ${limitSec} s`);
  const ranSec = ran.sinceFirstOutputSec ?? ran.tookSec;
  must(ranSec <= limitSec + OVERTIME_SEC, `it ran for ${ranSec.toFixed(2)} s with a limit of ${limitSec} s`);
}

/** Lives for a while whatever happens, and shows that it does by a file that grows. */
const HEARTBEAT = `
import signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
for _ in range(300):
    with open(sys.argv[1], 'a') as file: file.write('.')
    time.sleep(0.05)
`;

/** Starts a child in each way of getting away, waits until all are alive, and then ends or stays. */
const FAMILY = `${TAKE_NAME}
import json, os, signal, sys, time
heartbeat, ways, stays, nonce = json.loads(sys.argv[1]), sys.argv[2].split(), sys.argv[3] == 'stays', sys.argv[4]
print('started', flush=True)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
def live(way):
    if way != 'child': os.setsid()
    if way in ('orphan', 'hidden') and os.fork(): os._exit(0)
    file = os.path.abspath('beat-' + way)
    if way == 'hidden': os.chdir('/')
    environment = {} if way == 'hidden' else dict(os.environ)
    os.execve(sys.executable, [sys.executable, '-S', '-c', heartbeat, file, nonce], environment)
for way in ways:
    if os.fork() == 0: live(way)
deadline = time.monotonic() + 10
while not all(os.path.exists('beat-' + way) for way in ways):
    if time.monotonic() > deadline: sys.exit('the children did not start')
    time.sleep(0.01)
print('alive', flush=True)
if stays:
    while True: time.sleep(1)
`;

type RunFamily = (options: { readonly timeoutSec?: number }) => Promise<Ran>;

async function withFamily(
  box: Box,
  { hidden, stays }: { readonly hidden: boolean; readonly stays: boolean },
  use: (run: RunFamily, nonce: string) => Promise<void>,
): Promise<void> {
  const nonce = newNonce();
  const ways = hidden ? 'hidden' : 'child session orphan';
  try {
    await use(async (options) => {
      const ran = await box.python(FAMILY, {
        ...options,
        onOutput: noted,
        args: [JSON.stringify(HEARTBEAT), ways, stays ? 'stays' : 'ends', nonce],
      });
      mustEqual(ran.stdout, 'started\nalive\n', `what the program said (${describeEnd(ran)})`);
      return ran;
    }, nonce);
  } finally {
    endAll(nonce);
  }
}

/** The host sees no process of this run, and no file of it grows any more. */
async function mustBeGone(context: ClauseContext, box: Box, nonce: string): Promise<void> {
  try {
    if (context.hostVisible) {
      const areGone = (): boolean => pidsWithWord(nonce).length === 0;
      const gone = box.mayEndLate ? await until(areGone, LATE_END_MS) : areGone();
      must(gone, `${pidsWithWord(nonce).length} processes of the run are still there`);
    }
    const before = await beats(box);
    await delay(200);
    mustEqual(await beats(box), before, 'the files that only the run writes to: their sizes');
  } finally {
    endAll(nonce);
  }
}

async function beats(box: Box): Promise<Record<string, number>> {
  const files = await box.listFiles();
  return Object.fromEntries(
    files.filter(({ name }) => name.startsWith('beat-')).map(({ name, size }) => [name, size]),
  );
}

/** Survivors are our own programs: only they have this word. */
function endAll(nonce: string): void {
  for (const pid of pidsWithWord(nonce)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // ESRCH: gone by itself. EPERM: of a user that we may not signal; it ends by itself soon.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ESRCH' && code !== 'EPERM') throw error;
    }
  }
}
