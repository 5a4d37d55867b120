import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as event } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { describeMissing } from '../support/targets.ts';
import { processesWith } from '../support/traces.ts';
import {
  AS_ROOT,
  endsItsRelays,
  HELD,
  isAllOurs,
  open,
  PLAIN,
  probe,
  program,
  scratch,
  sharesTheKernel,
  whileRunning,
} from './support.ts';

const SECRET = `canary-${randomUUID()}`;
const IN_ENVIRONMENT = `canary-${randomUUID()}`;

/** Files of the host that hold the secret, in the folders that people keep theirs in. */
const CANARIES = [tmpdir(), homedir(), '/var/tmp', '/opt', '/srv', scratch].flatMap((folder) => {
  const path = join(folder, `glovebox-attack-${randomUUID()}`);
  try {
    writeFileSync(path, SECRET, { flag: 'wx', mode: 0o644 });
    return [path];
  } catch {
    // Not a folder that this user may write to: the others remain.
    return [];
  }
});
/** One whose path means nothing inside: `/tmp` is a folder of the sandbox too. */
const CANARY = CANARIES.find((path) => !path.startsWith('/tmp/')) ?? '';

let sleeper: ChildProcess;
let plain: LiveSandbox;

beforeAll(async () => {
  process.env['GLOVEBOX_ATTACK_CANARY'] = IN_ENVIRONMENT;
  sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
  await event(sleeper, 'spawn');
  plain = await open(PLAIN);
});

afterAll(async () => {
  delete process.env['GLOVEBOX_ATTACK_CANARY'];
  sleeper.kill('SIGKILL');
  for (const path of CANARIES) rmSync(path, { force: true });
  await plain.close();
});

/** Variables that an engine gives to the first process of every container; the program does not get them. */
const OF_AN_ENGINE = ['HOSTNAME', 'HOME', 'TERM', 'container', 'TINI_KILL_PROCESS_GROUP'];

const READ_EVERYTHING = program('reads-every-file.py');

const HOST_SECRETS = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/sudoers',
  '/var/run/docker.sock',
  '/run/docker.sock',
  join(homedir(), '.ssh'),
  join(homedir(), '.bashrc'),
  join(homedir(), '.bash_history'),
  join(process.cwd(), 'package.json'),
  '/var/log/dpkg.log',
  '/etc/machine-id',
  '/proc/kcore',
  '/dev/mem',
  '/dev/kmsg',
];

describe.each(HELD)('isolation: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target);
  });
  afterAll(() => sandbox.close());

  it('1. reads no file of the host, by any path, link, or descriptor', async () => {
    const targets = JSON.stringify([...CANARIES, ...HOST_SECRETS]);
    expect(await probe<string[]>(sandbox, READ_EVERYTHING, { env: { TARGETS: targets } })).toEqual([]);
    // Control: the same probe as a plain process finds every canary.
    const found = await probe<string[]>(plain, READ_EVERYTHING, { env: { TARGETS: targets } });
    expect(found).toEqual(expect.arrayContaining([...CANARIES]));
  });

  it('2. creates, changes and links no file outside of its own folders', async () => {
    const code = program('writes-everywhere.py');
    await sandbox.writeFile('mine', 'x');
    expect(await probe(sandbox, code, { env: { VICTIM: CANARY } })).toEqual([]);
    expect(readFileSync(CANARY, 'utf8')).toBe(SECRET);
    // Control: its own folders take all of it, and a plain process reaches the same file.
    const allowed = `
open('/workspace/mine', 'ab').close(); os.chmod('/workspace/mine', 0o700); os.link('/workspace/mine', '/workspace/linked')
os.rename('/workspace/linked', '/workspace/renamed'); os.unlink('/workspace/renamed')
for folder in ('/tmp', '/dev/shm'): open(folder + '/mine', 'wb').close()
print(json.dumps('ok'))`;
    expect(await probe(sandbox, allowed)).toBe('ok');
    const reach = `print(json.dumps(attempt(lambda: open(os.environ['VICTIM'], 'ab').close())))`;
    expect(await probe(plain, reach, { env: { VICTIM: CANARY } })).toBe('ok');
  });

  it('2. moves and links nothing between its folders and the control files beside them', async () => {
    const code = program('moves-between-folders.py');
    const { inside, ...others } = await probe<Record<string, string>>(sandbox, code);
    expect(Object.values(others)).not.toContain('ok');
    expect(inside).toBe('ok');
  });

  it('3. sees, signals, traces and reads no process of the host', async () => {
    const code = program('looks-for-processes.py');
    // Pids as small as those inside would be its own processes.
    const victims = [process.pid, process.ppid, sleeper.pid ?? 0].filter((pid) => pid > 50).join(',');
    const inside = await probe<{ seen: number; highest: number; ok: string[] }>(sandbox, code, {
      env: { VICTIMS: victims },
    });
    expect(inside.ok).toEqual([]);
    expect(inside.highest).toBeLessThan(isAllOurs(target) ? 10 : 50);
    const control = await probe<typeof inside>(plain, code.replace(/.*priority.*\n/, ''), {
      env: { VICTIMS: victims },
    });
    expect(control.ok).toEqual(
      expect.arrayContaining([`kill ${sleeper.pid}`, `status ${sleeper.pid}`, `environ ${sleeper.pid}`]),
    );
  });

  it('3. a signal to everybody reaches only its own processes, and its result stands', async () => {
    const result = await sandbox.execute(program('signals-everybody.py'), { timeout: 20 });
    // In an engine's gVisor the relays of its output are processes of its own user: it ends them, and so itself.
    if (endsItsRelays(target)) expect(result).toMatchObject({ outcome: 'killed', exitCode: 137 });
    else {
      expect(result).toMatchObject({ outcome: 'exited', exitCode: 7 });
      expect(result.stdout).toContain('child ended by -9');
    }
    expect(sleeper.exitCode ?? sleeper.signalCode).toBeNull();
  });

  it('4. has no user id of weight, no capability and no way to new privileges, inside and outside', async () => {
    const marker = `marker-${randomUUID()}`;
    const facts = `print(json.dumps({line.split(':')[0]: line.split(':')[1].split() for line in open('/proc/self/status') if ':' in line}))`;
    const inside = await probe<Record<string, string[]>>(sandbox, facts);
    const none = ['0000000000000000'];
    const held = {
      CapInh: none,
      CapPrm: none,
      CapEff: none,
      CapBnd: none,
      // What gVisor does not show of it is asked of the calls themselves, below.
      ...(sharesTheKernel(target) ? { CapAmb: none, NoNewPrivs: ['1'] } : {}),
      ...(target.capabilities.seccomp ? { Seccomp: ['2'] } : {}),
    };
    expect(inside).toMatchObject(held);
    expect(inside['Uid']).not.toContain('0');
    expect(inside['Gid']).not.toContain('0');
    const PR_GET_NO_NEW_PRIVS = 39;
    expect(await probe(sandbox, `print(json.dumps(libc.prctl(${PR_GET_NO_NEW_PRIVS}, 0, 0, 0, 0)))`)).toBe(1);

    if (!sharesTheKernel(target)) return;
    let outside: Record<string, string[]>[] = [];
    let owner: number | undefined;
    const { meta } = await whileRunning(
      sandbox,
      `open('/workspace/made', 'w').close()`,
      () => {
        const pids = processesWith(marker).map(({ pid }) => pid);
        outside = pids
          .map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'))
          .map((text) =>
            Object.fromEntries(
              text
                .split('\n')
                .filter(Boolean)
                .map((line) => {
                  const [name = '', value = ''] = line.split(/:\s*/);
                  return [name, value.split(/\s+/)];
                }),
            ),
          );
        if (AS_ROOT) owner = statSync(`/proc/${pids[0]}/root/workspace/made`).uid;
      },
      { MARKER: marker },
    );
    if (AS_ROOT) {
      expect(outside.length).toBeGreaterThan(0);
      for (const status of outside) {
        expect(status).toMatchObject(held);
        expect(status['Uid']).toEqual(Array(4).fill(String(meta.enforced?.uid)));
      }
      expect(owner).toBe(meta.enforced?.uid);
    }
    expect(meta.enforced?.uid).not.toBe(0);
    // Control: a plain process has what its user has.
    const control = await probe<Record<string, string[]>>(plain, facts);
    expect(control).toMatchObject({ Seccomp: ['0'], Uid: Array(4).fill(String(process.getuid?.())) });
  });

  it('4. gains nothing from set-uid programs, its own included', async () => {
    const code = program('uses-set-uid-programs.py');
    const inside = await probe<Record<string, unknown>>(sandbox, code);
    // A root that nobody can write to may keep its set-uid programs: they give nothing without new privileges.
    // gVisor does not show the options that its mounts have.
    if (sharesTheKernel(target)) {
      expect(inside[isAllOurs(target) ? 'not nosuid' : 'writable, not nosuid']).toEqual([]);
    }
    expect(inside['su']).not.toBe(0);
    expect(inside['mount']).not.toBe(0);
    // Control: there is something to gain from, and a program in the workspace does start.
    expect(inside['suid']).not.toBe(0);
    expect(inside['own']).toEqual([0, `${inside['uid']}\n`]);
  });

  const FORBIDDEN = program('forbidden-calls.py');

  it('5. cannot mount, make namespaces, or use raw, packet or configuring sockets', async () => {
    const code = `${FORBIDDEN}
${program('mounts-and-unshares.py')}`;
    const inside = await probe<Record<string, string>>(sandbox, code);
    expect(Object.entries(inside).filter(([, said]) => said === 'ok')).toEqual([]);
    // Control: threads and processes are made by the same calls, and ordinary sockets are there.
    const ordinary = `${FORBIDDEN}
import threading
done = []
thread = threading.Thread(target=lambda: done.append(1)); thread.start(); thread.join()
print(json.dumps([done, in_child(lambda: 'lives'), raw(socket.AF_INET, socket.SOCK_STREAM), raw(socket.AF_UNIX, socket.SOCK_STREAM)]))`;
    expect(await probe(sandbox, ordinary)).toEqual([[1], 'lives', 'ok', 'ok']);
  });

  // Where the host's kernel is not the one that is asked, there is no filter of ours to meet.
  const filtered = target.capabilities.seccomp ? it.skipIf(process.arch !== 'x64') : () => {};
  filtered('6. meets a filter that stops every call of the list and every other ABI', async () => {
    const code = `${FORBIDDEN}
${program('calls-what-is-filtered.py')}`;
    const inside = await probe<Record<string, string>>(sandbox, code);
    // gVisor knows no other ABI to begin with.
    const otherAbi = sharesTheKernel(target) ? 'signal 31' : 'refused';
    const { 'int 0x80': int80, ...calls } = inside;
    const refusals = ['EPERM', 'ENOSYS', 'signal 31'];
    expect(Object.entries(calls).filter(([, said]) => !refusals.includes(said))).toEqual([]);
    expect(int80).toBe(otherAbi);
    // Control: without the filter the harmless ones of them work, or fail for another reason.
    const control = await probe<Record<string, string>>(
      plain,
      `${code.slice(0, code.indexOf('print(json.dumps'))}
print(json.dumps({'keyctl': syscall(250, 0, -3, 1), 'io_uring_setup': syscall(425, 4, None), 'alg or vsock': [raw(38, socket.SOCK_SEQPACKET), raw(40, socket.SOCK_STREAM)],
  'int 0x80': in_child(int80), 'TIOCSETD': terminal(0x5423)}))`,
    );
    expect(control['keyctl']).toBe('ok');
    expect(control['io_uring_setup']).not.toBe('ENOSYS');
    expect(['ok', 'signal 11']).toContain(control['int 0x80']);
  });

  it('7. has only harmless devices and makes no others', async () => {
    const code = program('makes-devices.py');
    const inside = await probe<Record<string, unknown>>(sandbox, code);
    // Those of an engine's gVisor are its kernel's own, and lead nowhere.
    const emulated = endsItsRelays(target) ? ['/dev/fuse', '/dev/net/tun'] : [];
    const harmless = /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|pts\/(ptmx|\d+))$/;
    expect(
      (inside['devices'] as string[]).filter((path) => !harmless.test(path) && !emulated.includes(path)),
    ).toEqual([]);
    expect(inside).toMatchObject({ elsewhere: [], null: 'ok', random: 8, fifo: 'ok' });
    expect(inside['made']).not.toContain('ok');
  });

  it('7. writes no setting of the kernel', async () => {
    const code = program('writes-kernel-settings.py');
    const { comm, loginuid: _, ...answers } = await probe<Record<string, unknown>>(sandbox, code);
    const { 'oom lower': _lower, 'oom of 1': _of1, sched, ...others } = answers;
    // Numbers that a kernel of its own keeps to itself decide nothing on the host.
    const inside = sharesTheKernel(target) ? answers : others;
    expect(inside).toMatchObject({ writable: [] });
    // A gVisor of 2024 mounts cgroups of its own, in which it lets only its root write.
    if (sharesTheKernel(target)) expect(inside['writable cgroup files']).toEqual([]);
    if (isAllOurs(target)) expect(inside['cgroup files']).toEqual([]);
    expect(Object.entries(inside).filter(([, said]) => said === 'ok')).toEqual([]);
    // Control: what a process may say about itself, it may (old gVisor has another number for that); and where it is root, it could write a setting.
    expect([comm, sched]).toContain('ok');
    if (AS_ROOT) {
      const control = `print(json.dumps(attempt(lambda: os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)))))`;
      expect(await probe(plain, control)).toBe('ok');
    }
  });

  it('8. shows nothing of the toolkit in any process that is visible inside', async () => {
    const code = `
texts = {}
for pid in os.listdir('/proc'):
    if pid.isdigit():
        for name in ('environ', 'cmdline', 'comm'):
            try: texts[f'{pid} {name}'] = open(f'/proc/{pid}/{name}').read()
            except OSError as error: texts[f'{pid} {name}'] = ''
print(json.dumps(texts))`;
    const inside = await probe<Record<string, string>>(sandbox, code);
    const all = JSON.stringify(inside);
    for (const hidden of [
      IN_ENVIRONMENT,
      'GLOVEBOX_ATTACK',
      process.cwd(),
      'nsenter',
      'setpriv',
      '/cgroup',
    ]) {
      expect(all, hidden).not.toContain(hidden);
    }
    const names = (inside['1 environ'] ?? '').split('\0').map((line) => line.split('=')[0] ?? '');
    const known = ['', 'PATH', 'SHLVL', 'PWD', '_', 'OLDPWD', ...(isAllOurs(target) ? [] : OF_AN_ENGINE)];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    // Control: the same probe reads the canary where the processes of the host are visible.
    const control = `print(json.dumps(os.environ['WANTED'] in open(f'/proc/{os.environ["HOST"]}/environ').read()))`;
    const visible = { HOST: String(sleeper.pid), WANTED: IN_ENVIRONMENT };
    expect(await probe(plain, control, { env: visible })).toBe(true);
  });

  it('8. the environment, the arguments and the control files of another sandbox stay out of sight', async () => {
    await using other = await open(target);
    const secret = `secret-${randomUUID()}`;
    const search = program('searches-for-a-secret.py');
    const reversed = [...secret].reverse().join('');
    let seen: unknown;
    const result = await whileRunning(
      other,
      // Control: it is to be read where it is. What this kernel shows of a warm program's own is its interpreter's.
      `import subprocess
child = subprocess.Popen(['sh', '-c', 'echo; sleep 60'], stdout=subprocess.PIPE)
child.stdout.readline()
print(json.dumps(os.environ['SECRET'] in open(f'/proc/{child.pid}/environ').read()))`,
      async () => {
        seen = await probe(sandbox, search, { env: { WANTED: reversed } });
      },
      { SECRET: secret },
    );
    expect(seen).toEqual({ found: [], names: [] });
    expect(result.stdout).toContain('true');
  });

  it('10. has no terminal of the operator, and its input is empty', async () => {
    const code = `print(json.dumps({'tty': attempt(lambda: os.open('/dev/tty', os.O_RDWR)), 'input': sys.stdin.read(), 'session': os.getsid(0) not in (0, None)}))`;
    expect(await probe(sandbox, code)).toEqual({
      tty: expect.stringMatching(isAllOurs(target) ? /^ENXIO$/ : /^E(NXIO|IO)$/),
      input: '',
      session: true,
    });
    expect(await probe(sandbox, 'print(json.dumps(sys.stdin.read()))', { stdin: 'given' })).toBe('given');
  });

  it('2. its input is no file of the host that it could write to', async () => {
    const code = `
def grow():
    fd = os.open('/proc/self/fd/0', os.O_RDWR | os.O_APPEND)
    os.write(fd, b'x' * 4096)
    os.close(fd)
print(json.dumps({'grow': attempt(grow), 'chmod': attempt(lambda: os.chmod('/proc/self/fd/0', 0o777)), 'truncate': attempt(lambda: os.truncate('/proc/self/fd/0', 1 << 20)),
  'kept': sys.stdin.read(8192)}))`;
    const inside = await probe<Record<string, string>>(sandbox, code, { stdin: 'the input' });
    // Its owner may write to it where it is a pipe, or a file of the sandbox's own under the same limit as all others.
    const isOwn = await probe<boolean>(
      sandbox,
      "import stat; print(json.dumps(stat.S_ISFIFO(os.fstat(0).st_mode) or os.fstat(0).st_dev in [os.stat(path).st_dev for path in ('/workspace', '/tmp')]))",
      { stdin: 'x' },
    );
    if (!isOwn) expect([inside['grow'], inside['truncate']]).not.toContain('ok');
    // In a pipe that is written to by two, the input may come before or after.
    expect(inside['kept']).toContain('the input');
  });
});

describeMissing('isolation');
