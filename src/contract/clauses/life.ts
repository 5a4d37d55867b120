import { isSandboxError } from '../../errors.ts';
import { until } from '../box.ts';
import type { Clause } from '../clause.ts';
import { BrokenPromise, must, mustEqual, mustReject, shown } from '../expectations.ts';
import { traces } from '../hostView.ts';

/** What else goes on in this process comes and goes; a trace of ours that stays, stays for good. */
const TRACES_DEADLINE_MS = 5000;

export const LIFE_CLAUSES: readonly Clause[] = [
  {
    id: 'probe',
    promise: 'Asking a runtime whether it works changes nothing, names a version and gives one answer.',
    async check(context) {
      const [one, two] = [await context.probe(), await context.probe()];
      must(one.version.trim() !== '', 'the version is empty');
      mustEqual(two, one, 'the second answer');
      mustEqual(one.capabilities, context.capabilities, 'what it says that it can hold');
      await mustLeaveNothing(() => context.probe());
    },
  },
  {
    id: 'leaves-nothing',
    promise: 'A sandbox that was closed leaves no process, file, cgroup or descriptor on the host.',
    async check(context) {
      await mustLeaveNothing(async () => {
        const box = await context.open();
        const made = await box.python(
          `import os
os.makedirs('a/b/c')
open('a/b/c/file', 'w').close()
os.chmod('a/b', 0)
os.chmod('a', 0o555)
open(b'not utf-8 \\xff', 'w').close()
open(os.environ['TMPDIR'] + '/file', 'w').close()`,
        );
        mustEqual([made.outcome, made.exitCode], ['exited', 0], 'the end of the program');
        await box.close();
      });
    },
  },
  {
    id: 'aborted-create',
    promise: 'A sandbox that is made for a caller who has already gone leaves nothing.',
    async check(context) {
      await mustLeaveNothing(async () => {
        try {
          const guest = await context.guest({}, AbortSignal.abort());
          await guest.destroy();
        } catch (error) {
          must(
            isSandboxError(error) || (error as Error).name === 'AbortError',
            `making it failed with ${String(error)}`,
          );
        }
      });
    },
  },
  {
    id: 'close-twice',
    promise: 'Closing twice is the same as closing once, also while a program runs.',
    async check(context) {
      const guest = await context.guest();
      const { path } = await guest.interpreter('python');
      const program = await guest.spawn({
        argv: [path, '-c', 'import time; time.sleep(30)'],
        env: guest.environment,
      });
      await Promise.all([guest.destroy(), guest.destroy()]);
      await guest.destroy();
      const { code } = await program.exit;
      must(code !== 0, 'the program that was running ended as if nothing had happened');
    },
  },
  {
    id: 'closed',
    promise: 'A closed sandbox refuses every operation with SANDBOX_CLOSED, in the driver and above.',
    async check(context) {
      const box = await context.open();
      await box.close();
      await mustReject(box.python('print(1)'), 'SANDBOX_CLOSED', 'running');
      await mustReject(box.listFiles(), 'SANDBOX_CLOSED', 'listing');
      const guest = await context.guest();
      await guest.writeFile('a', Buffer.from('a'));
      await guest.destroy();
      const command = { argv: ['/bin/true'], env: {} } as const;
      await mustReject(guest.spawn(command), 'SANDBOX_CLOSED', "the driver's spawn");
      await mustReject(guest.readFile('a', 10), 'SANDBOX_CLOSED', "the driver's readFile");
      await mustReject(guest.writeFile('b', Buffer.from('b')), 'SANDBOX_CLOSED', "the driver's writeFile");
      await mustReject(guest.listFiles('.', 10), 'SANDBOX_CLOSED', "the driver's listFiles");
    },
  },
];

/** Does it once more when something is there that was not before: what others left is not there again. */
async function mustLeaveNothing(work: () => Promise<unknown>): Promise<void> {
  let suspects: string[] = [];
  for (let round = 0; round < 2; round++) {
    const before = traces();
    await work();
    suspects = newTraces(before);
    const gone = (): boolean => newTraces(before).every((trace) => !suspects.includes(trace));
    if (await until(gone, TRACES_DEADLINE_MS)) return;
  }
  throw new BrokenPromise(`it leaves ${shown(suspects)}`);
}

function newTraces(before: ReadonlySet<string>): string[] {
  return [...traces()].filter((trace) => !before.has(trace));
}
