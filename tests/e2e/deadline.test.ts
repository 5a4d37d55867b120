import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { processesWith } from '../support/traces.ts';
import { useCommand } from './support/command.ts';
import { describeWith, type Need } from './support/needs.ts';

const glovebox = useCommand();

const TENACIOUS = readFileSync(new URL('./programs/tenacious.py', import.meta.url), 'utf8');

const WAYS: readonly [string, readonly Need[], Readonly<Record<string, string>>][] = [
  ['in namespaces', ['bubblewrap'], { SANDBOX_LOCAL_ISOLATION: 'namespace' }],
  ['as a plain process with a cgroup', ['linux', 'cgroups'], { SANDBOX_LOCAL_ISOLATION: 'none' }],
];

for (const [way, needs, env] of WAYS) {
  describeWith(needs, `at the deadline, ${way}`, () => {
    it('an endless loop ends within 1.5 s, by the clock and by its own duration', async () => {
      const running = await glovebox.start(
        ['run', '--timeout', '2', '-c', 'print("started", flush=True)\nwhile True: pass'],
        { env },
      );
      await running.prints('started');
      const startedAt = performance.now();
      const { status } = await running.finished;
      const seconds = (performance.now() - startedAt) / 1000;
      expect(status).toBe(124);
      // The interpreter needed a part of the two seconds to start.
      expect(seconds).toBeGreaterThan(1);
      expect(seconds).toBeLessThan(3.5);
      const { stdout } = await glovebox.run(['run', '--json', '--timeout', '2', '-c', 'while True: pass'], {
        env,
      });
      const result = JSON.parse(stdout);
      expect(result).toMatchObject({
        exit_code: -1,
        timed_out: true,
        outcome: 'timed_out',
        stderr: expect.stringMatching(/timed out.*2/),
      });
      expect(result.duration).toBeGreaterThanOrEqual(2);
      expect(result.duration).toBeLessThan(3.5);
    });

    it('no process is left of a program that forks, starts sessions and ignores SIGTERM', async () => {
      const nonce = `nonce-${crypto.randomUUID()}`;
      glovebox.file('tenacious.py', TENACIOUS);
      const running = await glovebox.start(['run', '--timeout', '2', 'tenacious.py', '--', 'main', nonce], {
        env,
      });
      await running.prints('ready');
      const roles = processesWith(nonce)
        .map(({ command }) => command)
        .filter((line) => !line.includes('--timeout'))
        .map(roleIn);
      expect(new Set(roles)).toEqual(new Set(['main', 'child', 'daemon']));
      const startedAt = performance.now();
      expect((await running.finished).status).toBe(124);
      expect((performance.now() - startedAt) / 1000).toBeLessThan(3.5);
      expect(processesWith(nonce)).toEqual([]);
    });

    it('what a handler of SIGTERM prints is in the result', async () => {
      const code = [
        'import signal, sys, time',
        'def last(*_):',
        '    print("last words", flush=True)',
        '    sys.exit(3)',
        'signal.signal(signal.SIGTERM, last)',
        'print("ready", flush=True)',
        'while True: time.sleep(0.01)',
      ].join('\n');
      const { status, stdout } = await glovebox.run(['run', '--json', '--timeout', '1', '-c', code], { env });
      const result = JSON.parse(stdout);
      expect({ status, ...result }).toMatchObject({
        status: 124,
        exit_code: -1,
        stdout: 'ready\nlast words\n',
      });
      // It ended by itself, so nobody waited for the end of its second of grace.
      expect(result.duration).toBeLessThan(2);
    });

    it('a child that keeps our pipe open does not hold up the result of a program that ended', async () => {
      const nonce = `nonce-${crypto.randomUUID()}`;
      const code =
        'import subprocess, sys\n' +
        'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]], start_new_session=True)\n' +
        'print("parent done")';
      const { status, stdout, seconds } = await glovebox.run(['run', '-c', code, '--', nonce], { env });
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'parent done\n' });
      // Its child would go on for a minute, and the time limit is half of one.
      expect(seconds).toBeLessThan(15);
      expect(processesWith(nonce)).toEqual([]);
    });
  });
}

function roleIn(commandLine: string): string {
  return /(main|child|daemon) nonce-/.exec(commandLine)?.[1] ?? commandLine;
}
