/** Interpreters that wait in bubblewrap: a program of theirs finds, does and leaves what it would in a cold sandbox. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LanguageName } from '../../src/languages/language.ts';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import type { Exit, Guest } from '../../src/runtimes/runtime.ts';
import { runCommand } from '../../src/sandbox/run.ts';
import { eventually } from '../support/eventually.ts';
import { follow } from '../support/guests.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { childrenOf, NO_TRACES, processesWith, tracesOf } from '../support/traces.ts';
import { runAsUser, whyNotAsUser } from './asUser.ts';
import { type FileCommand, LANGUAGES, openWarm, startFile } from './support.ts';

const HOLDER = fileURLToPath(import.meta.resolve('./programs/holdsIdle.ts'));

const SCRIPTS = { python: 'tellsAll.py', javascript: 'tellsAll.mjs', shell: 'tellsAll.sh' } as const;

function script(language: LanguageName): string {
  return readFileSync(join(import.meta.dirname, 'programs', SCRIPTS[language]), 'utf8');
}

type Ran = Pick<Exit, 'code' | 'outOfMemory'> & { readonly stdout: string; readonly stderr: string };

async function run(guest: Guest, language: LanguageName, code: string, command?: FileCommand): Promise<Ran> {
  const program = await startFile(guest, language, code, command);
  const [stdout, stderr, exit] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    program.exit,
  ]);
  return { stdout, stderr, code: exit.code, outOfMemory: exit.outOfMemory };
}

describe.each(TARGETS.filter(({ runtime }) => runtime.name === 'bubblewrap'))(
  'an interpreter that waits: $name',
  () => {
    const { SANDBOX_PYTHON: python } = process.env;
    const runtime = bubblewrap({ forkServer: false, interpreters: python === undefined ? {} : { python } });

    async function open(language: LanguageName, warm = true): Promise<Guest> {
      const guest = await openWarm(runtime, language, warm);
      onTestFinished(() => guest.destroy());
      expect(guest.warmedBy).toBe(warm ? 'waiting_interpreter' : undefined);
      return guest;
    }

    describe.each(LANGUAGES)('%s', (language) => {
      it.each<[string, FileCommand]>([
        ['without input', {}],
        [
          'with arguments, variables and input',
          {
            args: ['a b', '', '$HOME', '*', "'"],
            env: { GREETING: 'two\nlines', 'NOT.A.NAME': '1', IFS: 'x' },
            stdin: Buffer.from('input\n'),
          },
        ],
      ])('shows a program what a cold one shows it %s', async (_, command) => {
        const cold = await run(await open(language, false), language, script(language), command);
        const warm = await run(await open(language), language, script(language), command);
        expect(cold.stdout).not.toBe('');
        expect(cold.stderr).toContain('to stderr');
        expect(warm).toEqual(cold);
      });

      it('gives it a stream as it comes, from the first byte after the orders', async () => {
        const code = {
          python: 'import sys\nprint("begun")\nprint(sys.stdin.readline(), sys.stdin.read())',
          javascript: 'console.log("begun"); process.stdin.pipe(process.stdout);',
          shell: 'echo begun; cat',
        }[language];
        const program = await startFile(await open(language), language, code, { stdin: 'stream' });
        const output = follow(program);
        await output.until('begun');
        program.stdin?.write('first\n');
        await (language === 'python' ? undefined : output.until('first'));
        program.stdin?.end('second\n');
        await output.until('second');
        expect((await program.exit).code).toBe(0);
      });

      it('may open its input again when all of it was written', async () => {
        const code = {
          python: 'print(open("/dev/stdin").read())',
          javascript: 'console.log((await import("node:fs")).readFileSync("/dev/stdin", "utf8"))',
          shell: 'cat /dev/stdin',
        }[language];
        const given = await run(await open(language), language, code, { stdin: Buffer.from('given') });
        expect(given).toMatchObject({ code: 0, stdout: expect.stringMatching(/^given\n?$/) });
        const program = await startFile(await open(language), language, code, { stdin: 'stream' });
        program.stdin?.end('written');
        const [stdout, { code: status }] = await Promise.all([text(program.stdout), program.exit]);
        expect([stdout.trim(), status]).toEqual(['written', 0]);
      });

      it('tells how it ended: by its own code, by a signal, from outside', async () => {
        const kill = { python: 'import os; os.kill(os.getpid(), 9)', javascript: '', shell: 'kill -9 $$' };
        const codes = {
          python: ['raise SystemExit(7)', kill.python, 'import time\nprint("up")\ntime.sleep(60)'],
          javascript: [
            'process.exit(7)',
            'process.kill(process.pid, "SIGKILL")',
            'console.log("up"); setTimeout(() => {}, 60000)',
          ],
          shell: ['exit 7', kill.shell, 'echo up; exec sleep 60'],
        }[language];
        const [own = '', bySignal = '', sleeps = ''] = codes;
        expect((await run(await open(language), language, own)).code).toBe(7);
        expect((await run(await open(language), language, bySignal)).code).toBe(137);
        for (const [signal, code] of [
          ['SIGTERM', 143],
          ['SIGKILL', 137],
        ] as const) {
          const program = await startFile(await open(language), language, sleeps);
          await follow(program).until('up');
          await program.kill(signal);
          expect(await program.exit).toMatchObject({ code, outOfMemory: false });
        }
      });

      it('runs one program, and only the one that it waits for', async () => {
        const guest = await open(language);
        const refused = { code: 'SANDBOX_FAILED', hint: expect.stringContaining('bug of Glovebox') };
        const { path } = await guest.interpreter(language);
        const other = { argv: [path, '--version'], env: guest.environment } as const;
        await expect(guest.spawn(other)).rejects.toMatchObject(refused);
        const more = { limits: { memoryMb: 1 } };
        await expect(startFile(guest, language, '', more)).rejects.toMatchObject(refused);
        const split = { args: ['a\0b'] };
        await expect(startFile(guest, language, '', split)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
        expect(await run(guest, language, '')).toMatchObject({ code: 0, stdout: '' });
        await expect(startFile(guest, language, '')).rejects.toMatchObject(refused);
      });

      it('leaves nothing, whether it ran or not', async () => {
        const before = childrenOf(process.pid).map(({ pid }) => pid);
        const marker = `waiting-${randomUUID()}`;
        const guests = [await openWarm(runtime, language), await openWarm(runtime, language)];
        expect(childrenOf(process.pid).length).toBeGreaterThan(before.length);
        await run(guests[0] as Guest, language, '', { args: [marker] });
        await Promise.all(guests.map((guest) => guest.destroy()));
        expect(childrenOf(process.pid).filter(({ pid }) => !before.includes(pid))).toEqual([]);
        expect(processesWith(marker)).toEqual([]);
      });
    });

    it('enforces what a cold sandbox enforces', async () => {
      const [warm, cold] = [await open('shell'), await open('shell', false)];
      expect({ ...warm.enforced, uid: null }).toEqual({ ...cold.enforced, uid: null });
      const limits = 'ulimit -a; cat /proc/self/status | grep -E "Seccomp|NoNewPrivs|Cap"';
      expect(await run(warm, 'shell', limits)).toEqual(await run(cold, 'shell', limits));
    });

    it('ends at the memory limit', async () => {
      const ran = await run(await open('python'), 'python', 'x = bytearray(1 << 30)\nprint(len(x))');
      expect(ran).toMatchObject({ code: 137, outOfMemory: true, stdout: '' });
    });

    it('ends at its deadline, with what it had printed', async () => {
      const guest = await open('python');
      await guest.writeFile('main.py', Buffer.from('import time\nprint("before")\ntime.sleep(60)'));
      const { path } = await guest.interpreter('python');
      const argv = [path, '-u', '-B', '/workspace/main.py'] as const;
      const ran = await runCommand(guest, {
        command: { argv, env: guest.environment },
        timeoutSec: 1,
        maxOutputBytes: 1000,
      });
      expect(ran).toMatchObject({ outcome: 'timed_out', stdout: { text: 'before\n' } });
    });

    it('hands on all that was printed, however much, and does not wait for who holds the output', async () => {
      const bytes = 20_000_000;
      const flood = await run(
        await open('python'),
        'python',
        `import sys\nsys.stdout.write("x" * ${bytes})\nsys.exit(5)`,
      );
      expect([flood.stdout.length, flood.code]).toEqual([bytes, 5]);
      const left = 'for i in 1 2 3; do sleep 60 & done; printf %60000s end';
      const guest = await open('shell');
      const held = await run(guest, 'shell', left);
      expect([held.stdout.length, held.code]).toEqual([60_000, 0]);
    });

    it('believes no report but that of its init', async () => {
      const forge = `
import glob
said = 0
for path in glob.glob('/proc/*/fd/*'):
    try:
        with open(path, 'wb', 0) as target:
            target.write(b'{ "exit-code": 0 }\\n')
            said += 1
    except OSError: pass
print('forged', said)
raise SystemExit(9)`;
      const ran = await run(await open('python'), 'python', forge);
      expect(ran.stdout).toContain('forged');
      expect(ran.code).toBe(9);
    });

    it('finds nothing of the orders of another', async () => {
      const secret = randomUUID();
      const search = `
import glob, os
found = []
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline') + glob.glob('/tmp/*') + glob.glob('/workspace/*'):
    try: text = open(path, errors='replace').read()
    except OSError: continue
    if os.environ['WANTED'] in text.replace('-', ''): found.append(path)
print(len(found))`;
      const other = await startFile(await open('shell'), 'shell', 'echo up; read line', {
        args: [secret],
        stdin: 'stream',
      });
      await follow(other).until('up');
      const env = { WANTED: secret.replaceAll('-', '') };
      expect((await run(await open('python'), 'python', search, { env })).stdout).toBe('0\n');
      // Control: the same search finds it where the arguments are its own.
      const own = await run(await open('python'), 'python', `${search}\n# ${secret}`, { env });
      expect(own.stdout).toBe('1\n');
    });

    it('says that it has ended when something else has ended it', async () => {
      const before = childrenOf(process.pid).map(({ pid }) => pid);
      const guest = await open('python');
      const ours = childrenOf(process.pid).filter(({ pid }) => !before.includes(pid));
      for (const { pid } of ours) process.kill(pid, 'SIGKILL');
      await eventually('it has ended', () => ours.every(({ pid }) => !isAlive(pid)));
      const ended = startFile(guest, 'python', '').then(({ exit }) => exit);
      await expect(ended).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
    });

    it.each(['leaves', 'stays'])('leaves nothing behind a process that %s while they wait', async (what) => {
      const holder = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), HOLDER, what], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void holder.kill('SIGKILL'));
      await once(holder.stdout, 'data');
      const waiting = childrenOf(holder.pid as number);
      if (what === 'stays') {
        expect(waiting.length).toBeGreaterThan(0);
        holder.kill('SIGKILL');
      }
      const [code] = await once(holder, 'exit');
      expect(code).toBe(what === 'stays' ? null : 0);
      await eventually('nobody waits any more', () => waiting.every(({ pid }) => !isAlive(pid)));
      await eventually('all of it is swept', async () => {
        await runtime.sweep?.();
        return JSON.stringify(tracesOf(holder.pid as number)) === JSON.stringify(NO_TRACES);
      });
    });

    const whyNot = whyNotAsUser(HOLDER);
    it.skipIf(whyNot)(`waits for an ordinary user too${whyNot}`, async () => {
      expect(await runAsUser(HOLDER, 'runs')).toEqual([
        LANGUAGES.map(() => 'waiting_interpreter'),
        'an ordinary user\n',
        0,
      ]);
    });
  },
);

describeMissing('an interpreter that waits');

function isAlive(pid: number): boolean {
  try {
    return !/^State:\t[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // ENOENT: gone.
    return false;
  }
}
