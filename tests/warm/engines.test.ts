/** Interpreters that wait in the sandboxes of engines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { javascript } from '../../src/languages/javascript.ts';
import { python } from '../../src/languages/python.ts';
import { shell } from '../../src/languages/shell.ts';
import type { Guest } from '../../src/runtimes/runtime.ts';
import { type RunOutcome, type RunRequest, runCommand } from '../../src/sandbox/run.ts';
import { eventually } from '../support/eventually.ts';
import { type GuestWish, openGuest } from '../support/guests.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';
import { childrenOf, NO_TRACES, tracesOf } from '../support/traces.ts';

const ENGINES = ['gvisor', 'docker', 'docker with runsc'];

const programs = new URL('../programs/warm/', import.meta.url);
const program = (name: string): string => readFileSync(new URL(name, programs), 'utf8');

interface Run extends Partial<Omit<RunRequest, 'command'>> {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function runIn(
  guest: Guest,
  code: string,
  { args = [], env = {}, ...rest }: Run = {},
): Promise<RunOutcome> {
  const { path } = await guest.interpreter('python');
  await guest.writeFile(python.fileName, Buffer.from(code));
  return runCommand(guest, {
    command: {
      argv: python.command(path, `${guest.workspace}/${python.fileName}`, args),
      env: { ...guest.environment, ...env },
    },
    maxOutputBytes: 10_000,
    timeoutSec: 30,
    ...rest,
  });
}

/** It finds no trace of what its interpreter was started with. */
const JAVASCRIPT = `
import { text } from 'node:stream/consumers';
import { statSync } from 'node:fs';
console.log(process.argv[2], process.env.WORD);
process.stdout.write(await text(process.stdin));
process.exitCode = 3 + statSync('/dev/fuse').size + process.execArgv.length;
`;

/** Each has a user of its own; and with a kernel of its own, a cold one has a shell between its init and the program. */
function ofContainer({ status }: { readonly status: object }): object {
  return { status: { ...status, Uid: [], Gid: [], Groups: [] }, parent: 1, leads: true };
}

for (const target of TARGETS.filter(({ name }) => ENGINES.includes(name))) {
  describe(`a Python that waits: ${target.name}`, () => engineTests(target));
}
describeMissing('a Python that waits');

function engineTests({ name, runtime, loadAgain }: Target): void {
  const openCold = (): Promise<Guest> => openGuest(runtime, { singleUse: true, languages: ['python'] });
  async function openWarm(limits: GuestWish['limits'] = {}): Promise<Guest> {
    const warm = { language: 'python', preload: [] } as const;
    const guest = await openGuest(runtime, { singleUse: true, languages: ['python'], warm, limits });
    expect(guest.warmedBy).toBe('waiting_interpreter');
    return guest;
  }

  it('is held as a cold one is, and its program finds what a cold one finds', async () => {
    const [cold, warm] = [await openCold(), await openWarm()];
    expect(warm.enforced).toEqual({ ...cold.enforced, uid: warm.enforced.uid });
    const facts = async (guest: Guest): Promise<unknown> => {
      await guest.writeFile('data/more.txt', Buffer.from('more'));
      const how = { args: ['one', 'zwei ü'], env: { WORD: 'sécret' }, stdin: Buffer.from('input\n') };
      const { stdout, stderr } = await runIn(guest, program('tells-how-it-was-started.py'), {
        ...how,
        maxOutputBytes: 100_000,
      });
      expect(stderr.text).toBe('');
      const found = JSON.parse(stdout.text);
      return { ...found, ...(name === 'gvisor' ? {} : ofContainer(found)) };
    };
    const expected = await facts(cold);
    expect(expected).toMatchObject({ argv: ['/workspace/main.py', 'one', 'zwei ü'], input: 'input\n' });
    expect(await facts(warm)).toEqual(expected);
  });

  it.skipIf(name !== 'gvisor').each([
    [shell.name, shell, 'echo "$1 $WORD"; cat; exit 3'],
    [javascript.name, javascript, JAVASCRIPT],
  ])('can be another interpreter: %s', async (_name, language, code) => {
    const warm = { language: language.name, preload: [] };
    const guest = await openGuest(runtime, { singleUse: true, languages: [language.name], warm });
    expect(guest.warmedBy).toBe('waiting_interpreter');
    const { path } = await guest.interpreter(language.name);
    await guest.writeFile(language.fileName, Buffer.from(code));
    const command = {
      argv: language.command(path, `${guest.workspace}/${language.fileName}`, ['ä b']),
      env: { ...guest.environment, WORD: 'word' },
    };
    const stdin = Buffer.from('input');
    expect(await runCommand(guest, { command, maxOutputBytes: 1000, stdin })).toMatchObject({
      exitCode: 3,
      stdout: { text: 'ä b word\ninput' },
      stderr: { text: '' },
    });
  });

  it('becomes one program, of its language, and no second one', async () => {
    const guest = await openWarm();
    const { path } = await guest.interpreter('python');
    const env = guest.environment;
    await expect(guest.spawn({ argv: [path, '-c', 'print(1)'], env })).rejects.toMatchObject({
      code: 'SANDBOX_FAILED',
    });
    expect(await runIn(guest, 'print(1)')).toMatchObject({
      outcome: 'exited',
      exitCode: 0,
      stdout: { text: '1\n' },
    });
    await expect(runIn(guest, 'print(2)')).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
  });

  it.each([
    ['nothing', undefined, ''],
    ['bytes', Buffer.from('a\nb'), 'a\nb'],
    ['a stream', Readable.from(['x'.repeat(200_000)]), 'x'.repeat(200_000)],
  ])('gives its program as standard input: %s', async (_name, stdin, expected) => {
    const given = stdin === undefined ? {} : { stdin };
    const code = 'import sys; text = sys.stdin.read(); print(len(text), text[:9])';
    const { stdout } = await runIn(await openWarm(), code, given);
    expect(stdout.text).toBe(`${expected.length} ${expected.slice(0, 9)}\n`);
  });

  it.each([
    ['raise SystemExit(3)', { outcome: 'exited', exitCode: 3 }],
    ['import os; os._exit(255)', { outcome: 'exited', exitCode: 255 }],
    ['import os; os.kill(os.getpid(), 9)', { outcome: 'killed', exitCode: 137, signal: 9 }],
    ['import os; os.kill(os.getpid(), 15)', { outcome: 'killed', exitCode: 143, signal: 15 }],
    [
      '1 / 0',
      {
        outcome: 'exited',
        exitCode: 1,
        stderr: expect.objectContaining({
          text: expect.stringMatching(
            /^Traceback.*\n {2}File "\/workspace\/main.py", line 1, in <module>\n(.*\n)*ZeroDivisionError/,
          ),
        }),
      },
    ],
  ])('tells how its program ended: %s', async (code, expected) => {
    expect(await runIn(await openWarm(), code)).toMatchObject(expected);
  });

  it('ends its program when its time is over, politely and then for good', async () => {
    const polite =
      'import signal, time; signal.signal(15, lambda *_: print("asked", flush=True)); time.sleep(60); time.sleep(60)';
    const timedOut = await runIn(await openWarm(), polite, { timeoutSec: 1 });
    expect(timedOut).toMatchObject({ outcome: 'timed_out', stdout: { text: 'asked\n' } });
  });

  it('interrupts its program as Ctrl-C does', async () => {
    const guest = await openWarm();
    const { path } = await guest.interpreter('python');
    await guest.writeFile('main.py', Buffer.from('import time; print("ready", flush=True); time.sleep(60)'));
    const running = await guest.spawn({
      argv: python.command(path, '/workspace/main.py', []),
      env: guest.environment,
    });
    for await (const _ of running.stdout) await running.kill('SIGINT');
    running.stderr.destroy();
    expect(await running.exit).toMatchObject({ code: 130, outOfMemory: false });
  });

  it('tells that its program ran out of memory', async () => {
    const hungry = 'kept = []\nwhile True: kept.append(bytearray(b"x" * (8 << 20)))';
    const guest = await openWarm({ memoryMb: 96 });
    expect(await runIn(guest, hungry)).toMatchObject({
      outcome: 'out_of_memory',
      exitCode: 137,
      killedBy: 'memory',
    });
  });

  it.skipIf(name !== 'docker')('tells that the memory limit ended another process', async () => {
    const starts =
      'import subprocess, sys\nchild = subprocess.run([sys.executable, "-c", sys.argv[1]])\nsys.exit(child.returncode == -9)';
    const hungry = 'kept = bytearray()\nwhile True: kept += b"x" * (1 << 20)';
    const { outcome, exitCode, oomKills } = await runIn(await openWarm({ memoryMb: 96 }), starts, {
      args: [hungry],
    });
    expect({ outcome, exitCode, oomKills }).toEqual({ outcome: 'exited', exitCode: 1, oomKills: 1 });
  });

  it('hands over all that its program wrote before its end, and counts it', async () => {
    const flood =
      'import os\nfor _ in range(320):\n  os.write(1, bytes(65536)[:65000])\n  os.write(2, b"e" * 100)\nos._exit(5)';
    const { stdout, stderr, exitCode } = await runIn(await openWarm(), flood);
    expect([exitCode, stdout.bytes, stderr.bytes]).toEqual([5, 320 * 65_000, 32_000]);
  });

  it('waits for nobody whom its program left behind', async () => {
    const guest = await openWarm();
    const leaving = `
import os, sys, time
if os.fork() == 0:
    os.setsid()
    while True: os.write(1, b'late')
print('early', flush=True)
time.sleep(0.1)
os._exit(4)`;
    const { exitCode, stdout } = await runIn(guest, leaving);
    expect([exitCode, stdout.bytes > 10]).toEqual([4, true]);
  });

  it('believes no report but that of the first process', async () => {
    const { outcome, exitCode, stdout, stderr } = await runIn(
      await openWarm(),
      program('says-that-it-has-ended.py'),
    );
    const without = ({ text }: { readonly text: string }): string => text.replaceAll('\0', '');
    const [seen, all] = [without(stdout), 'before\nafter\n'];
    expect(without(stderr)).toBe('');
    if (name !== 'docker with runsc') {
      expect([outcome, exitCode, seen]).toEqual(['exited', 7, all]);
      return;
    }
    // There a program reaches our streams, which it can only cut off, and in some releases it can end its sandbox.
    expect(seen).toBe(all.slice(0, seen.length));
    expect(['exited 7', 'killed 137']).toContain(`${outcome} ${exitCode}`);
  });

  it('leaves nothing, whether it was used or not', async () => {
    const [used, unused] = [await openWarm(), await openWarm()];
    const during = tracesOf(process.pid);
    expect(during.cgroups.length + during.containers.length).toBeGreaterThan(0);
    await runIn(used, 'import subprocess; subprocess.Popen(["sleep", "600"], start_new_session=True)');
    await Promise.all([used.destroy(), unused.destroy()]);
    expect(tracesOf(process.pid)).toEqual(NO_TRACES);
    expect(childrenOf(process.pid).filter(({ command }) => /runsc|unshare/.test(command))).toEqual([]);
  });

  it.each(['leave', 'stay'])('ends with whoever made it, who can end before it: %s', async (how) => {
    const script = [new URL('maker.ts', import.meta.url).pathname, name, how];
    const maker = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), ...script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(maker, 'exit');
    const pid = maker.pid ?? 0;
    const said: string[] = [];
    for await (const line of createInterface(maker.stdout)) {
      said.push(line);
      expect(tracesOf(pid)).not.toEqual(NO_TRACES);
      if (how === 'stay') maker.kill('SIGKILL');
    }
    expect([said, await ended]).toEqual([
      ['waiting_interpreter'],
      how === 'stay' ? [null, 'SIGKILL'] : [0, null],
    ]);
    await (await loadAgain()).sweep?.();
    await eventually('nothing is left', () => isDeepStrictEqual(tracesOf(pid), NO_TRACES));
  });
}
