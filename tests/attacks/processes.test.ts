import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { isAtLeast } from '../../src/policy/isolation.ts';
import { descriptorsInStock } from '../../src/runtimes/host/pipes.ts';
import { eventually } from '../support/eventually.ts';
import { describeMissing, type Target } from '../support/targets.ts';
import { type HostProcess, NO_TRACES, processesWith } from '../support/traces.ts';
import {
  ALL,
  HELD_WITHOUT_CGROUPS,
  leftBy,
  once,
  open,
  PLAIN,
  PRELUDE,
  probe,
  program,
  sharesTheKernel,
  traces,
  whileRunning,
} from './support.ts';

/** Within this much of its limit a run is over, whatever the program does (promise 14). */
const KILLED_WITHIN_SEC = 2.5;

/** The same here, where others run beside it on the same processors: ending another kernel takes its time then. */
const killedWithin = (target: Target): number => KILLED_WITHIN_SEC + (sharesTheKernel(target) ? 0 : 2);

const limitsProcesses = ({ capabilities }: Target): boolean => capabilities.limits.processes !== 'none';
const CONTAINED = [...ALL, ...HELD_WITHOUT_CGROUPS].filter(
  ({ capabilities }) => capabilities.processes === 'contained',
);

afterAll(() => {
  // Nothing of any test in this file is left on the host.
  expect(traces()).toEqual(NO_TRACES);
});

/** Programs are started by ourselves, without an engine or another kernel. */
const isQuick = ({ capabilities }: Target): boolean => !isAtLeast(capabilities.isolation, 'container');

const COUNT_FORKS = program('counts-forks.py');

/** Why tests that build a library are skipped; empty where they run. */
const NO_COMPILER = spawnSync('gcc', ['--version']).status === 0 ? '' : ' (skipped: gcc is not installed)';

describe.each([...ALL, ...HELD_WITHOUT_CGROUPS].filter(limitsProcesses))('process limit: $name', (target) => {
  it('17. holds in the first run of a sandbox and in every later one', async () => {
    await using sandbox = await open(target, { maxProcesses: 40 });
    const counts: number[] = [];
    for (let run = 0; run < 3; run++) {
      counts.push(await probe<number>(sandbox, COUNT_FORKS));
      // Whatever they leave for the host's init to reap, which may take its time, takes no room from the next.
      for (let more = 0; more < 15 && isQuick(target); more++) await sandbox.execute('1');
    }
    expect(sandbox.enforced.limits.processes.value).toBe(40);
    for (const count of counts) {
      expect(count, `runs: ${counts}`).toBeLessThanOrEqual(40);
      expect(count, `runs: ${counts}`).toBeGreaterThan(Math.max(10, Number(counts[0]) - 5));
    }
    // Control: with a higher limit the same program makes all that it wants.
    await using roomy = await open(target, { maxProcesses: 300 });
    expect(await probe(roomy, COUNT_FORKS)).toBe(150);
  });

  it.each([
    ['bash', 'shell', ':(){ :|:& };:; while :; do :; done'],
    ['python', 'python', 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'],
    [
      'python, ignoring signals, in sessions of their own',
      'python',
      program('forks-in-sessions-of-their-own.py'),
    ],
  ])('14, 15, 17. a fork bomb (%s) ends at its deadline and leaves nothing', async (_, language, code) => {
    const marker = `bomb-${randomUUID()}`;
    const result = await once(target, language === 'python' ? `${PRELUDE}\n${code}` : code, {
      language,
      timeout: 1,
      maxProcesses: 50,
      env: { MARKER: marker },
    });
    expect(result).toMatchObject({ outcome: 'timed_out', exitCode: -1 });
    expect(result.duration).toBeLessThan(1 + killedWithin(target));
    expect(processesWith(marker)).toEqual([]);
  });

  it('17. still lets a live sandbox work after a run that had to be killed', async () => {
    await using sandbox = await open(target, { maxProcesses: 40 });
    for (let turn = 0; turn < 3; turn++) {
      const bomb = `import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n  try: os.fork()\n  except OSError: pass`;
      expect(await sandbox.execute(bomb, { timeout: 0.3 })).toMatchObject({ outcome: 'timed_out' });
      expect(await probe<number>(sandbox, COUNT_FORKS), `after ${turn + 1}`).toBeGreaterThan(10);
    }
  });

  it('14. a program that used up all processes still meets its deadline', async () => {
    const code = `${COUNT_FORKS.split('for pid in children: os.kill')[0]}
print('full', flush=True)
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)`;
    // An interpreter takes its time to start where each system call is traced.
    const timeout = sharesTheKernel(target) ? 1 : 4;
    const result = await once(target, `import os, time\n${code}`, { timeout, maxProcesses: 30 });
    expect(result).toMatchObject({ outcome: 'timed_out', stdout: 'full\n' });
    expect(result.duration).toBeLessThan(timeout + killedWithin(target));
  });
});

describe.each(CONTAINED)('process containment: $name', (target) => {
  const HIDE = program('hides-a-grandchild.py');

  it('15. no hidden grandchild survives the end of the program', async () => {
    const marker = `hidden-${randomUUID()}`;
    await using sandbox = await open(target);
    let during: HostProcess[] = [];
    await whileRunning(
      sandbox,
      `${HIDE}\nhide(os.environ['MARKER'])`,
      async () => {
        if (!sharesTheKernel(target)) return;
        await eventually('the hidden process is there', () => processesWith(marker).length > 1);
        during = processesWith(marker);
      },
      { MARKER: marker },
    );
    // Control: it was there while the program ran, where the host can see it.
    if (sharesTheKernel(target)) expect(during.length).toBeGreaterThan(1);
    expect(await leftBy(target, marker)).toEqual([]);
  });

  it('15. no hidden grandchild survives a deadline or closing', async () => {
    const marker = `hidden-${randomUUID()}`;
    const sandbox = await open(target);
    const code = `import os, time\n${HIDE}\nhide(os.environ['MARKER'])\nprint('hidden', flush=True)\ntime.sleep(60)`;
    const timedOut = await sandbox.execute(code, { timeout: 3, env: { MARKER: marker } });
    expect(timedOut).toMatchObject({ outcome: 'timed_out', stdout: 'hidden\n' });
    expect(await leftBy(target, marker)).toEqual([]);
    let closed: Promise<void> | undefined;
    const running = sandbox.execute(code, {
      timeout: 60,
      env: { MARKER: marker },
      onOutput: () => {
        closed ??= sandbox.close();
      },
    });
    await running.catch(() => {});
    await closed;
    await sandbox.close();
    expect(processesWith(marker)).toEqual([]);
  });

  it.skipIf(NO_COMPILER)(
    `15. a preloaded library of the program starts under the same limits${NO_COMPILER}`,
    async () => {
      await using builder = await open(PLAIN);
      const marker = `preload-${randomUUID()}`;
      const source = program('starts-before-the-program.c');
      await builder.writeFile('early.c', source);
      const build = await builder.execute('gcc -shared -fPIC -DMARKER="\\"$MARKER\\"" -o early.so early.c', {
        language: 'shell',
        env: { MARKER: marker },
      });
      expect(build).toMatchObject({ ok: true });
      const library = Buffer.from((await builder.readFile('early.so')).content, 'base64');
      await using sandbox = await open(target);
      await sandbox.writeFile('early.so', library);
      const where = await probe<string>(sandbox, `print(json.dumps(os.environ['HOME']))`);
      try {
        await sandbox
          .execute('print(1)', { env: { LD_PRELOAD: `${where}/early.so` }, timeout: 5 })
          .catch(() => {});
        expect(await leftBy(target, marker)).toEqual([]);
      } finally {
        for (const { pid } of processesWith(marker)) process.kill(pid, 'SIGKILL');
      }
    },
  );
});

describe.each(HELD_WITHOUT_CGROUPS)('process limit set inside: $name', (target) => {
  it.skipIf(NO_COMPILER)(
    `17. a preloaded library does not run before the limit is set${NO_COMPILER}`,
    async () => {
      await using builder = await open(PLAIN);
      await builder.writeFile('skip.c', program('skips-the-limits.c'));
      const build = await builder.execute('gcc -shared -fPIC -o skip.so skip.c', {
        language: 'shell',
      });
      expect(build).toMatchObject({ ok: true });
      await using sandbox = await open(target, { maxProcesses: 30 });
      await sandbox.writeFile('skip.so', Buffer.from((await builder.readFile('skip.so')).content, 'base64'));
      const preloaded = probe<number>(sandbox, COUNT_FORKS, { env: { LD_PRELOAD: '/workspace/skip.so' } });
      await expect(preloaded).rejects.toMatchObject({ code: 'POLICY_NOT_ENFORCEABLE' });
      // Control: without it the program runs, and is held.
      expect(await probe<number>(sandbox, COUNT_FORKS)).toBeLessThanOrEqual(30);
    },
  );
});

describe.each(ALL)('stubborn programs: $name', (target) => {
  it.each([
    [
      'ignores every signal',
      'for number in range(1, 65):\n  try: signal.signal(number, signal.SIG_IGN)\n  except (OSError, ValueError): pass\ntime.sleep(60)',
    ],
    ['stops itself', 'os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)'],
    ['closes everything and sleeps', 'os.closerange(0, 256)\ntime.sleep(60)'],
    ['starts programs without end', 'import subprocess\nwhile True: subprocess.Popen(["/bin/true"]).wait()'],
    [
      'spins in many threads',
      'import threading\nfor _ in range(20): threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()\ntime.sleep(60)',
    ],
    ['is replaced by another program', 'os.execv("/bin/sleep", ["sleep", "60"])'],
  ])('14. a program that %s is over 2.5 s after its limit', async (_, code) => {
    const started = performance.now();
    const result = await once(target, `import os, signal, time\n${code}`, { timeout: 0.7 });
    expect(result).toMatchObject({ outcome: 'timed_out', exitCode: -1, timedOut: true });
    expect(result.duration).toBeGreaterThan(0.6);
    expect(result.duration).toBeLessThan(0.7 + killedWithin(target));
    expect((performance.now() - started) / 1000).toBeLessThan(0.7 + killedWithin(target) + 1.5);
  });

  it('22. a grandchild that holds the output does not hold the result', async () => {
    const marker = `holder-${randomUUID()}`;
    const code = `import subprocess; subprocess.Popen(['sh', '-c', 'trap "" TERM HUP; sleep 30'], start_new_session=True); print('done')`;
    const result = await once(target, code, { timeout: 20, env: { MARKER: marker } });
    expect(result).toMatchObject({ ok: true, stdout: 'done\n' });
    expect(result.duration).toBeLessThan(3);
    expect(processesWith(marker)).toEqual([]);
  });
});

describe.each(ALL)('side by side: $name', (target) => {
  it('20. 50 sandboxes at once neither fail each other nor leave anything', async () => {
    // Pipes that wait for later sandboxes are no left-overs.
    const descriptors = (): number => readdirSync('/proc/self/fd').length - descriptorsInStock();
    const marker = `parallel-${randomUUID()}`;
    await once(target, 'print(1)');
    const before = { descriptors: descriptors(), traces: traces() };
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, number) => {
        // Every fifth one misbehaves; its neighbours must not notice.
        const code =
          number % 5 === 0
            ? 'import os, time\nos.fork()\ntime.sleep(60)'
            : `import os\nopen(os.path.join(os.environ["HOME"], "file"), "w").write("x")\nprint(${number})`;
        return once(target, code, { timeout: number % 5 === 0 ? 1 : 40, env: { MARKER: marker } });
      }),
    );
    for (const [number, result] of results.entries()) {
      expect(result, String(number)).toMatchObject(
        number % 5 === 0 ? { outcome: 'timed_out' } : { ok: true, stdout: `${number}\n` },
      );
    }
    expect(processesWith(marker)).toEqual([]);
    expect(traces()).toEqual(before.traces);
    await eventually('its descriptors are closed', () => descriptors() <= before.descriptors + 2);
  }, 150_000);
});

describeMissing('processes');
