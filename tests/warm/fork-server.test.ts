/** What is particular to interpreters that a fork server made; what holds of every warm one is in waiting.test.ts. */
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { statusOf } from '../../src/contract/hostView.ts';
import { findLanguage } from '../../src/languages/index.ts';
import { assertHeldBy } from '../../src/runtimes/bubblewrap/forkServer/facts.ts';
import { bubblewrap } from '../../src/runtimes/bubblewrap/index.ts';
import { isWritable } from '../../src/runtimes/host/cgroups/find.ts';
import { descendantsOf, firstChild } from '../../src/runtimes/host/namespaceInit.ts';
import type { Guest, Runtime } from '../../src/runtimes/runtime.ts';
import { type RunOutcome, runCommand } from '../../src/sandbox/run.ts';
import { eventually } from '../support/eventually.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { childrenOf, NO_TRACES, tracesOf } from '../support/traces.ts';
import { runAsUser, whyNotAsUser } from './asUser.ts';
import { openWarm, startFile } from './support.ts';

/** The number that the next process has is one more; see proc(5). Only root may say so. */
const NEXT_NUMBER = '/proc/sys/kernel/ns_last_pid';

const HOLDER = fileURLToPath(import.meta.resolve('./programs/holdsIdle.ts'));
const isHere = TARGETS.some(({ name }) => name === 'bubblewrap');
const program = (name: string): string => readFileSync(new URL(`programs/${name}`, import.meta.url), 'utf8');

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  readonly timeoutSec?: number;
}

async function run(
  guest: Guest,
  code: string,
  { env = {}, ...options }: RunOptions = {},
): Promise<RunOutcome> {
  const python = findLanguage('python');
  await guest.writeFile(python.fileName, Buffer.from(code));
  const { path } = await guest.interpreter('python');
  const argv = python.command(path, `${guest.workspace}/${python.fileName}`, []);
  const command = { argv, env: { ...guest.environment, ...env } };
  return runCommand(guest, { command, maxOutputBytes: 100_000, timeoutSec: 20, ...options });
}

describeMissing('the fork server');

describe.skipIf(!isHere)('the fork server', () => {
  const { SANDBOX_PYTHON: python } = process.env;
  const runtime: Runtime = bubblewrap(python === undefined ? {} : { interpreters: { python } });
  afterAll(async () => {
    await runtime.rest?.();
    expect(tracesOf(process.pid)).toEqual(NO_TRACES);
    await eventually('no process is left', () => childrenOf(process.pid).length === 0);
  });

  const using = async <T>(use: (guest: Guest) => Promise<T>): Promise<T> => {
    const guest = await openWarm(runtime, 'python');
    try {
      expect(guest.warmedBy).toBe('fork_server');
      return await use(guest);
    } finally {
      await guest.destroy();
    }
  };

  it('holds the memory of a program that ends, which nobody waits for', async () => {
    const others =
      'pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]';
    const told = await using((guest) =>
      run(
        guest,
        `import os\n${others}\nprint(len(pids))\ntry: os.wait()\nexcept ChildProcessError: print("no child")`,
      ),
    );
    expect(told).toMatchObject({ exitCode: 0, stdout: { text: '1\nno child\n' } });
    const ended = await using((guest) =>
      run(guest, `import os\n${others}\nfor pid in pids: os.kill(pid, 9)\nos._exit(5)`),
    );
    expect(ended).toMatchObject({ outcome: 'exited', exitCode: 5 });
    const stopped = await using((guest) =>
      run(guest, `import os\n${others}\nfor pid in pids: os.kill(pid, 19)\nos._exit(6)`),
    );
    expect(stopped).toMatchObject({ outcome: 'exited', exitCode: 6 });
  });

  const cannotCount = isWritable(NEXT_NUMBER) ? '' : ` (skipped: ${NEXT_NUMBER} cannot be written here)`;
  it.skipIf(cannotCount)(
    `finds the program where the numbers of processes begin anew${cannotCount}`,
    async () => {
      const most = Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'));
      for (let round = 0; round < 12; round++) {
        // Between the program and what holds its memory, unless others start processes meanwhile.
        writeFileSync(NEXT_NUMBER, String(most - 3 - (round % 3)));
        const outcome = await using((guest) => run(guest, 'import os; os._exit(7)'));
        expect(outcome).toMatchObject({ outcome: 'exited', exitCode: 7 });
      }
    },
  );

  it('gives the memory back of a program that becomes another one', async () => {
    const again = 'import sys; x = b"x" * (200 << 20); print(len(x) >> 20)';
    const outcome = await using((guest) =>
      run(
        guest,
        `import os, sys\nx = b"x" * (200 << 20)\nos.execv(sys.executable, ["python3", "-c", ${JSON.stringify(again)}])`,
      ),
    );
    expect(outcome).toMatchObject({ outcome: 'exited', exitCode: 0, stdout: { text: '200\n' } });
    // The kernel would have ended what holds it.
    expect(outcome.oomKills).toBeUndefined();
  });

  it('gives each program namespaces and, as root, a user of its own', async () => {
    const look =
      'import os; print({name: os.readlink("/proc/self/ns/" + name) for name in sorted(os.listdir("/proc/self/ns"))})';
    const seen = await Promise.all(
      [1, 2].map(() =>
        using(async (guest) => [(await run(guest, look)).stdout.text, guest.enforced.uid] as const),
      ),
    );
    const [first, second] = seen.map(
      ([text]) => JSON.parse(text.replaceAll("'", '"')) as Record<string, string>,
    );
    for (const name of ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts']) {
      const ids = [first?.[name], second?.[name], readlinkSync(`/proc/self/ns/${name}`)];
      expect([name, new Set(ids).size]).toEqual([name, 3]);
    }
    const users = seen.map(([, uid]) => uid);
    if (process.getuid?.() === 0) expect(new Set([0, ...users]).size).toBe(3);
    else expect(users).toEqual([process.getuid?.(), process.getuid?.()]);
  });

  it('holds the keeper of a program as it holds the program', async () => {
    await using(async () => {
      // The server is in a namespace below ours, and the keeper the first in one below that.
      const isKeeper = (pid: number): boolean => /^\d+\t\d+\t1$/.test(statusOf(pid)['NSpid'] ?? '');
      const keepers = descendantsOf(process.pid).filter(({ pid }) => isKeeper(pid));
      expect(keepers).toHaveLength(1);
      const [{ pid } = { pid: 0 }] = keepers;
      // It goes on by itself while the program that it has forked says that it is ready.
      await eventually('the keeper holds itself', () => statusOf(pid)['Seccomp'] === '2');
      const keeper = statusOf(pid);
      const waiting = firstChild(pid) ?? 0;
      const rights = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) =>
        Number(`0x${keeper[set]}`),
      );
      expect([rights, keeper['NoNewPrivs'], keeper['Seccomp']]).toEqual([[0, 0, 0, 0, 0], '1', '2']);
      // It heeds no signal, leads the session, and has nothing open but its report.
      expect(Number(`0x${keeper['SigCgt']}`)).toBe(0);
      for (const process of [keeper, statusOf(waiting)])
        expect(process['NSsid']?.split('\t').at(-1)).toBe('1');
      expect(readdirSync(`/proc/${pid}/fd`)).toEqual(['0']);
      expect(readlinkSync(`/proc/${pid}/fd/0`)).toMatch(/^pipe:/);
      // Its streams, the report, the orders, the root of its files and its input: nothing of another's.
      expect(readdirSync(`/proc/${waiting}/fd`)).toEqual(['0', '1', '2', '3', '4', '5', '6']);
      const [keepersUser = '', programsUser] = [keeper['Uid'], statusOf(waiting)['Uid']];
      if (process.getuid?.() === 0) expect(new Set([keepersUser, programsUser, '0\t0\t0\t0']).size).toBe(3);
    });
  });

  it('is believed by the host’s kernel alone: a program with less held is not taken', () => {
    const status = (changes: Readonly<Record<string, string>>): string =>
      Object.entries({
        ...{ Uid: '7\t7\t7\t7', CapInh: '0', CapPrm: '0', CapEff: '0', CapBnd: '0', CapAmb: '0' },
        ...{ NoNewPrivs: '1', Seccomp: '2', ...changes },
      })
        .map(([name, value]) => `${name}:\t${value}\n`)
        .join('');
    expect(() => assertHeldBy(status({}), 7)).not.toThrow();
    const weaker: Record<string, string>[] = [
      ...[{ NoNewPrivs: '0' }, { Seccomp: '0' }, { Uid: '0\t0\t0\t0' }, { Uid: '7\t7\t0\t7' }],
      ...['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => ({ [`Cap${set}`]: '0000000000200000' })),
    ];
    for (const changes of weaker) expect(() => assertHeldBy(status(changes), 7)).toThrow(/does not have/);
    expect(() => assertHeldBy('', 7)).toThrow(/does not have/);
  });

  it('shows nothing of one program to the next', async () => {
    const env = { SECRET_TAIL: '93b1f0c2' };
    const hides = program('hidesSecrets.py');
    const finds = program('findsSecrets.py');
    // The control: what is left can be found, by the program that left it.
    const own = await using((guest) => run(guest, `${hides}\n${finds}`, { env }));
    const where = ['/workspace/', '/tmp/', '/dev/shm/', 'shared memory', 'memory', 'net/unix'];
    expect(own.stderr.text).toBe('');
    for (const place of where) expect(own.stdout.text).toContain(place);
    const other = await openWarm(runtime, 'python');
    const running = await openWarm(runtime, 'python');
    const holder = await startFile(running, 'python', `${hides}\nprint('hidden')\ntime.sleep(100)`, { env });
    await holder.stdout[Symbol.asyncIterator]().next();
    try {
      // One that was made before the secret was there, one that is made beside it, and one after it.
      expect((await run(other, finds, { env })).stdout.text).toBe('[]\n');
      expect((await using((guest) => run(guest, finds, { env }))).stdout.text).toBe('[]\n');
    } finally {
      await Promise.all([other.destroy(), running.destroy()]);
    }
    expect((await using((guest) => run(guest, finds, { env }))).stdout.text).toBe('[]\n');
  });

  it('believes the program’s parent, and nothing that the program writes', async () => {
    await using(async (guest) => {
      expect(await run(guest, program('forgesItsEnd.py'))).toMatchObject({ outcome: 'exited', exitCode: 7 });
      const told = Buffer.from(await guest.readFile('told', 1000)).toString();
      // Its output is all that it could write to, and it reached nothing of the process above it.
      expect(told).toBe('([1, 2], [])');
    });
  });

  const whyNot = whyNotAsUser(HOLDER);
  it.skipIf(whyNot)(`believes it where both are an ordinary user too${whyNot}`, async () => {
    expect(await runAsUser(HOLDER, 'forges')).toEqual(['fork_server', 7, '([1, 2], [])']);
  });

  it('gives each program random numbers of its own', async () => {
    const code = 'import os, random, uuid\nprint(random.random(), uuid.uuid4(), os.urandom(8).hex())';
    const said = await Promise.all([1, 2, 3].map(() => using((guest) => run(guest, code))));
    const numbers = said.flatMap(({ stdout }) => stdout.text.trim().split(' '));
    expect(new Set(numbers).size).toBe(9);
  });

  it('takes files along, and hands out what came of them', async () => {
    await using(async (guest) => {
      await guest.writeFile('deep/er/data', Buffer.alloc(3_000_000, 'x'));
      await guest.writeFile('/workspace/überall', Buffer.from('text'));
      await expect(guest.writeFile('../out', Buffer.from(''))).rejects.toMatchObject({
        code: 'PATH_OUTSIDE_WORKSPACE',
      });
      await expect(guest.writeFile('huge', Buffer.alloc(33 * 1024 ** 2))).rejects.toMatchObject({
        code: 'INPUT_INVALID',
      });
      const code =
        "import os, sys\nopen('sum', 'w').write(str(len(open('deep/er/data').read()) + len(sys.stdin.read())))\nprint(sorted(os.listdir('.')), oct(os.stat('deep/er/data').st_mode), os.stat('deep').st_uid)";
      const outcome = await run(guest, code, { stdin: Buffer.alloc(2_000_000, 'y') });
      expect(outcome.stderr.text).toBe('');
      expect(outcome.stdout.text).toBe("['deep', 'main.py', 'sum', 'überall'] 0o100644 1000\n");
      expect(Buffer.from(await guest.readFile('sum', 100)).toString()).toBe('5000000');
    });
  });

  it('lets no input or file that finds no room look like the end of a program', async () => {
    const small = { language: 'python' as const, preload: [] };
    for (const [stdin, file] of [
      [Buffer.alloc(40 * 1024 ** 2), 'small'],
      [Buffer.alloc(1), `${`${'deep'.repeat(60)}/`.repeat(20)}file`],
    ] as const) {
      const guest = await openWarm(runtime, 'python', small);
      await guest.writeFile(file, Buffer.from(''));
      await expect(run(guest, 'print(1)', { stdin })).rejects.toMatchObject({
        code: 'SANDBOX_FAILED',
        message: expect.stringContaining('found no room'),
      });
      await guest.destroy();
    }
    // The control: both are no more than a little smaller.
    const outcome = await using(async (guest) => {
      await guest.writeFile(`${`${'deep'.repeat(60)}/`.repeat(10)}file`, Buffer.from(''));
      return run(guest, 'import sys; print(len(sys.stdin.read()))', {
        stdin: Buffer.alloc(10 * 1024 ** 2, 'x'),
      });
    });
    expect(outcome.stdout.text).toBe(`${10 * 1024 ** 2}\n`);
  });

  it('gives its input as a file that is no larger and no other than what was given', async () => {
    const code = `import os
tried = []
for attempt in (
    lambda: os.truncate('/proc/self/fd/0', 0),
    lambda: os.truncate('/proc/self/fd/0', 1 << 20),
    lambda: os.write(os.open('/proc/self/fd/0', os.O_WRONLY), b'x'),
):
    try:
        attempt()
        tried.append('ok')
    except OSError as error:
        tried.append(error.errno)
print(tried, open('/dev/stdin').read())`;
    const outcome = await using((guest) => run(guest, code, { stdin: Buffer.from('the input') }));
    expect(outcome.stdout.text).toBe('[1, 1, 1] the input\n');
  });

  it('imports what it was told to before, and says what it could not', async () => {
    const wish = { language: 'python' as const, preload: ['json', 'decimal'] };
    const guest = await openWarm(runtime, 'python', wish);
    const code =
      "import sys\nprint([name in sys.modules for name in ('json', 'decimal', 'sqlite3', 'ctypes')])";
    expect((await run(guest, code)).stdout.text).toBe('[True, True, False, False]\n');
    await guest.destroy();
    await expect(
      openWarm(runtime, 'python', { language: 'python', preload: ['no_such_module'] }),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('no_such_module') });
  });

  it('leaves nothing of a hundred programs', async () => {
    const descriptors = openDescriptors();
    for (let round = 0; round < 20; round++) {
      const outcomes = await Promise.all(
        [1, 2, 3, 4, 5].map((number) => using((guest) => run(guest, `import sys; sys.exit(${number})`))),
      );
      expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([1, 2, 3, 4, 5]);
    }
    expect(tracesOf(process.pid)).toEqual(NO_TRACES);
    await eventually('no descriptor is left', () => openDescriptors() <= descriptors + 4);
  });

  it('ends all that it made when it is killed, and another takes its place', async () => {
    const guest = await openWarm(runtime, 'python');
    const waiting = await startFile(
      guest,
      'python',
      "print('ready', flush=True)\nimport time\ntime.sleep(100)",
    );
    await waiting.stdout[Symbol.asyncIterator]().next();
    const idle = await openWarm(runtime, 'python');
    for (const { pid } of childrenOf(process.pid)) process.kill(pid, 'SIGKILL');
    expect(await idle.lost).toContain('has ended');
    await idle.destroy();
    await expect(waiting.exit).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
    await guest.destroy();
    expect((await using((next) => run(next, 'print(1)'))).stdout.text).toBe('1\n');
  });
});
