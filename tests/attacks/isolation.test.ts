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
import { AS_ROOT, HELD, open, PLAIN, probe, scratch, whileRunning } from './support.ts';

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

const READ_EVERYTHING = `
targets = json.loads(os.environ['TARGETS'])
prefixes = ['', '/proc/1/root', '/proc/self/root', '/proc/self/root/..', '/../../..', '/proc/self/cwd/../../..',
            '/proc/1/cwd', '/proc/thread-self/root', '/dev/fd/0/..', '/workspace/../..']
for pid in os.listdir('/proc'):
    if pid.isdigit():
        prefixes += [f'/proc/{pid}/root', f'/proc/{pid}/cwd/..', f'/proc/{pid}/cwd/../..']
        try:
            prefixes += [f'/proc/{pid}/fd/{fd}{up}' for fd in os.listdir(f'/proc/{pid}/fd') for up in ('', '/..', '/../../..')]
        except OSError:
            pass
read = []
for target in targets:
    for prefix in prefixes:
        try:
            with open(prefix + target, 'rb') as file:
                file.read(1)
            read.append(prefix + target)
        except OSError:
            pass
for fd in range(0, 1024):
    for way in ('.', '..', '../../../../..'):
        try:
            os.close(os.open(way, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd))
            read.append(f'openat({fd}, {way})')
        except OSError:
            pass
    try:
        os.fchdir(fd)
        read.append(f'fchdir({fd})')
    except OSError:
        pass
print(json.dumps(read))
`;

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
    const code = `
victim = os.environ['VICTIM']
answers = {}
for path in [victim, '/proc/1/root' + victim, '/etc/passwd', '/etc/hosts', '/usr/bin/evil', '/usr/lib/evil', '/evil', '/root/evil',
             '/dev/evil', '/etc/evil', '/lib/evil', sys.prefix + '/lib/evil.py', sys.executable, '/proc/evil', '/var/tmp/evil', '/home/evil', '/run/evil']:
    answers['write ' + path] = attempt(lambda: open(path, 'ab').close())
    answers['chmod ' + path] = attempt(lambda: os.chmod(path, 0o777))
    answers['link ' + path] = attempt(lambda: os.link(path, '/workspace/linked'))
    answers['link in ' + path] = attempt(lambda: os.link('/workspace/mine', os.path.dirname(path) + '/linked'))
    answers['rename ' + path] = attempt(lambda: os.rename('/workspace/mine', path))
    answers['unlink ' + path] = attempt(lambda: os.unlink(path))
print(json.dumps([what for what, said in answers.items() if said == 'ok']))
`;
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
    const code = `
open('/workspace/a', 'w').close()
os.makedirs('/workspace/folder', exist_ok=True)
print(json.dumps({
  'link to tmp': attempt(lambda: os.link('/workspace/a', '/tmp/a')),
  'rename to tmp': attempt(lambda: os.rename('/workspace/folder', '/tmp/folder')),
  'link passwd': attempt(lambda: os.link('/etc/passwd', '/workspace/passwd')),
  'rename workspace': attempt(lambda: os.rename('/workspace', '/tmp/w')),
  'remove workspace': attempt(lambda: os.rmdir('/workspace')),
  'exchange': syscall(316, -100, b'/workspace/folder', -100, b'/tmp', 2),
  'inside': attempt(lambda: os.rename('/workspace/folder', '/workspace/other')),
}))`;
    const { inside, ...others } = await probe<Record<string, string>>(sandbox, code);
    expect(Object.values(others)).not.toContain('ok');
    expect(inside).toBe('ok');
  });

  it('3. sees, signals, traces and reads no process of the host', async () => {
    const code = `
import signal
victims = [int(pid) for pid in os.environ['VICTIMS'].split(',')]
seen = [int(pid) for pid in os.listdir('/proc') if pid.isdigit()]
remote = (ctypes.c_ulong * 2)(0, 8)
answers = {}
for pid in victims:
    answers[f'kill {pid}'] = attempt(lambda: os.kill(pid, 0))
    answers[f'killpg {pid}'] = attempt(lambda: os.killpg(pid, 0))
    answers[f'pidfd {pid}'] = syscall(434, pid, 0)
    answers[f'priority {pid}'] = attempt(lambda: os.setpriority(os.PRIO_PROCESS, pid, 5))
    answers[f'status {pid}'] = attempt(lambda: open(f'/proc/{pid}/status').read())
    answers[f'environ {pid}'] = attempt(lambda: open(f'/proc/{pid}/environ').read())
    answers[f'affinity {pid}'] = attempt(lambda: os.sched_getaffinity(pid))
print(json.dumps({'seen': len(seen), 'highest': max(seen), 'ok': [what for what, said in answers.items() if said == 'ok']}))`;
    // Pids as small as those inside would be its own processes.
    const victims = [process.pid, process.ppid, sleeper.pid ?? 0].filter((pid) => pid > 50).join(',');
    const inside = await probe<{ seen: number; highest: number; ok: string[] }>(sandbox, code, {
      env: { VICTIMS: victims },
    });
    expect(inside.ok).toEqual([]);
    expect(inside.highest).toBeLessThan(10);
    const control = await probe<typeof inside>(plain, code.replace(/.*priority.*\n/, ''), {
      env: { VICTIMS: victims },
    });
    expect(control.ok).toEqual(
      expect.arrayContaining([`kill ${sleeper.pid}`, `status ${sleeper.pid}`, `environ ${sleeper.pid}`]),
    );
  });

  it('3. a signal to everybody reaches only its own processes, and its result stands', async () => {
    const result = await sandbox.execute(
      `import os, signal, time
pid = os.fork()
if pid == 0:
    time.sleep(60)
os.kill(-1, signal.SIGKILL)
print('child ended by', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
try: os.kill(1, signal.SIGKILL)
except OSError as error: print(error)
try: os.kill(os.getppid(), signal.SIGSTOP)
except OSError as error: print(error)
os._exit(7)`,
      { timeout: 20 },
    );
    expect(result).toMatchObject({ outcome: 'exited', exitCode: 7 });
    expect(result.stdout).toContain('child ended by -9');
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
      CapAmb: none,
      NoNewPrivs: ['1'],
      Seccomp: ['2'],
    };
    expect(inside).toMatchObject(held);
    expect(inside['Uid']).not.toContain('0');
    expect(inside['Gid']).not.toContain('0');

    let outside: Record<string, string[]>[] = [];
    let owner = 0;
    await whileRunning(
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
        owner = AS_ROOT ? statSync(`/proc/${pids[0]}/root/workspace/made`).uid : (sandbox.enforced.uid ?? 0);
      },
      { MARKER: marker },
    );
    if (AS_ROOT) {
      expect(outside.length).toBeGreaterThan(0);
      for (const status of outside) {
        expect(status).toMatchObject(held);
        expect(status['Uid']).toEqual(Array(4).fill(String(sandbox.enforced.uid)));
      }
    }
    expect(owner).toBe(sandbox.enforced.uid);
    expect(owner).not.toBe(0);
    // Control: a plain process has what its user has.
    const control = await probe<Record<string, string[]>>(plain, facts);
    expect(control).toMatchObject({ Seccomp: ['0'], Uid: Array(4).fill(String(process.getuid?.())) });
  });

  it('4. gains nothing from set-uid programs, its own included', async () => {
    const code = `
import glob, shutil, subprocess
suid = [path for path in glob.glob('/usr/bin/*') + glob.glob('/usr/sbin/*')
        if os.path.isfile(path) and not os.path.islink(path) and os.stat(path).st_mode & 0o6000]
def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    return done.returncode, done.stdout
shutil.copy('/usr/bin/id', '/workspace/id'); os.chmod('/workspace/id', 0o6755)
mounts = [line.split()[1] for line in open('/proc/self/mounts') if 'nosuid' not in line.split()[3].split(',')]
print(json.dumps({
  'suid': len(suid), 'not nosuid': mounts,
  'su': run('su', '-c', 'id')[0] if os.path.exists('/usr/bin/su') else 1,
  'mount': run('mount', '-t', 'tmpfs', 'x', '/tmp')[0] if os.path.exists('/usr/bin/mount') else 1,
  'own': run('/workspace/id', '-u'),
}))`;
    const inside = await probe<Record<string, unknown>>(sandbox, code);
    expect(inside['not nosuid']).toEqual([]);
    expect(inside['su']).not.toBe(0);
    expect(inside['mount']).not.toBe(0);
    // Control: there is something to gain from, and a program in the workspace does start.
    expect(inside['suid']).not.toBe(0);
    expect(inside['own']).toEqual([0, '1000\n']);
  });

  const FORBIDDEN = `
def child_of(number, *arguments):
    return in_child(lambda: syscall(number, *arguments))
NEWUSER, NEWNS, NEWNET, NEWPID, NEWTIME = 0x10000000, 0x20000, 0x40000000, 0x20000000, 0x80
class CloneArguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('flags', 'pidfd', 'child_tid', 'parent_tid', 'exit_signal', 'stack', 'size', 'tls')]
def raw(family, kind, protocol=0):
    return attempt(lambda: socket.socket(family, kind, protocol).close())
`;

  it('5. cannot mount, make namespaces, or use raw, packet or configuring sockets', async () => {
    const code = `${FORBIDDEN}
def configure():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        # RTM_NEWLINK: a dummy interface.
        netlink.send(struct.pack('=IHHII', 32, 16, 0x605, 1, 0) + struct.pack('=BxHiII', 0, 0, 0, 0, 0))
        error = struct.unpack('=i', netlink.recv(4096)[16:20])[0]
        if error: raise OSError(-error, '')
print(json.dumps({
  'mount tmpfs': call(libc.mount, b'x', b'/tmp', b'tmpfs', 0, None),
  'mount bind': call(libc.mount, b'/', b'/tmp', None, 4096, None),
  'remount': call(libc.mount, b'x', b'/', None, 32 | 4096, None),
  'umount': call(libc.umount2, b'/workspace', 2),
  'pivot': syscall(155, b'/tmp', b'/tmp'), 'chroot': call(libc.chroot, b'/tmp'),
  'fsopen': syscall(430, b'tmpfs', 0), 'open_tree': syscall(428, -100, b'/', 1), 'move_mount': syscall(429, -100, b'/', -100, b'/tmp', 0),
  'mount_setattr': syscall(442, -100, b'/', 0, None, 0),
  **{f'unshare {flag:x}': child_of(272, flag) for flag in (NEWUSER, NEWNS, NEWNET, NEWPID, NEWTIME, NEWUSER | NEWNS, 0x8000000, 0x4000000, 0x2000000)},
  **{f'clone {flag:x}': child_of(56, flag | 17, 0, 0, 0, 0) for flag in (NEWUSER, NEWNS, NEWNET, NEWPID)},
  'clone3': child_of(435, ctypes.byref(CloneArguments(flags=NEWUSER, exit_signal=17)), 64),
  'setns': syscall(308, os.open('/proc/1/ns/user', os.O_RDONLY), 0) if os.access('/proc/1/ns/user', os.R_OK) else 'EACCES',
  'raw': raw(socket.AF_INET, socket.SOCK_RAW, 1), 'raw 6': raw(socket.AF_INET6, socket.SOCK_RAW, 58),
  'packet': raw(17, socket.SOCK_RAW, 0x300), 'packet dgram': raw(17, socket.SOCK_DGRAM, 0x300),
  'configure': attempt(configure),
}))`;
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

  it.skipIf(process.arch !== 'x64')(
    '6. meets a filter that stops every call of the list and every other ABI',
    async () => {
      const code = `${FORBIDDEN}
import mmap
def int80():
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid of i386); int 0x80; ret
    memory.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return 'ok' if function() > 0 else 'refused'
vector = (ctypes.c_char * 256)()
def terminal(request):
    import pty
    primary, secondary = os.openpty()
    return call(libc.ioctl, secondary, ctypes.c_ulong(request), b'x')
print(json.dumps({
  'bpf': syscall(321, 5, vector, 120), 'perf_event_open': syscall(298, vector, 0, -1, -1, 0),
  'keyctl': syscall(250, 0, -3, 1), 'add_key': syscall(248, b'user', b'attack', b'x', 1, -4), 'request_key': syscall(249, b'user', b'attack', None, 0),
  'io_uring_setup': syscall(425, 4, vector), 'io_uring_enter': syscall(426, 0, 0, 0, 0, None, 0), 'io_uring_register': syscall(427, 0, 0, None, 0),
  'userfaultfd': syscall(323, 1), 'ptrace own': syscall(101, 0, 0, 0, 0), 'ptrace 1': syscall(101, 16, 1, 0, 0), 'process_vm_readv': syscall(310, 1, None, 0, None, 0, 0),
  'process_vm_writev': syscall(311, 1, None, 0, None, 0, 0), 'pidfd_getfd': syscall(438, syscall(434, 1, 0) and 0, 0, 0), 'kcmp': syscall(312, 1, 1, 0, 0, 0),
  'kexec_load': syscall(246, 0, 0, None, 0), 'kexec_file_load': syscall(320, 0, 0, 0, None, 0), 'init_module': syscall(175, None, 0, None), 'finit_module': syscall(313, 0, b'', 0),
  'delete_module': syscall(176, b'x', 0), 'open_by_handle_at': syscall(304, -100, vector, 0), 'name_to_handle_at': syscall(303, -100, b'/', vector, vector, 0),
  'setns': syscall(308, 0, 0), 'vsock': raw(40, socket.SOCK_STREAM), 'alg': raw(38, socket.SOCK_SEQPACKET), 'packet': raw(17, socket.SOCK_RAW),
  'netlink other': raw(16, socket.SOCK_RAW, 9), 'bluetooth': raw(31, socket.SOCK_RAW), 'can': raw(29, socket.SOCK_RAW, 1), 'xdp': raw(44, socket.SOCK_RAW),
  'TIOCSTI': terminal(0x5412), 'TIOCSTI high half': terminal(0x100005412), 'TIOCLINUX': terminal(0x541C), 'TIOCSETD': terminal(0x5423),
  'x32 getpid': in_child(lambda: syscall(0x40000000 + 39)), 'x32 own numbers': in_child(lambda: syscall(0x40000000 + 512)), 'x32 without bit': in_child(lambda: syscall(520)),
  'int 0x80': in_child(int80), 'syslog': syscall(103, 10, None, 0), 'mbind': syscall(237, 0, 0, 0, 0, 0, 0), 'personality': syscall(135, 0x40000),
  'memfd_secret': syscall(447, 0), 'future': syscall(1000), 'uselib': syscall(134, b'/'), 'fanotify': syscall(300, 0, 0), 'socketpair': attempt(lambda: socket.socketpair(40)),
}))`;
      const inside = await probe<Record<string, string>>(sandbox, code);
      const refusals = ['EPERM', 'ENOSYS', 'signal 31'];
      expect(Object.entries(inside).filter(([, said]) => !refusals.includes(said))).toEqual([]);
      expect(inside['int 0x80']).toBe('signal 31');
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
    },
  );

  it('7. has only harmless devices and makes no others', async () => {
    const code = `
import stat
devices = []
for folder, folders, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode): devices.append(path)
everywhere = [path for top in ('/workspace', '/tmp', '/etc') for folder, _, names in os.walk(top) for path in [os.path.join(folder, name) for name in names]
              if not os.path.islink(path) and (stat.S_ISCHR(os.lstat(path).st_mode) or stat.S_ISBLK(os.lstat(path).st_mode))]
made = {path: attempt(lambda: os.mknod(path, kind | 0o666, os.makedev(1, 3))) for kind in (stat.S_IFCHR, stat.S_IFBLK) for path in ('/workspace/d', '/tmp/d', '/dev/shm/d', '/dev/d')}
print(json.dumps({'devices': sorted(devices), 'elsewhere': everywhere, 'made': sorted(set(made.values())), 'null': attempt(lambda: open('/dev/null', 'wb').write(b'x')), 'random': len(open('/dev/urandom', 'rb').read(8)),
  'fifo': attempt(lambda: os.mkfifo('/workspace/fifo'))}))`;
    const inside = await probe<Record<string, unknown>>(sandbox, code);
    const harmless = /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|pts\/(ptmx|\d+))$/;
    expect((inside['devices'] as string[]).filter((path) => !harmless.test(path))).toEqual([]);
    expect(inside).toMatchObject({ elsewhere: [], null: 'ok', random: 8, fifo: 'ok' });
    expect(inside['made']).not.toContain('ok');
  });

  it('7. writes no setting of the kernel', async () => {
    const code = `
writable = []
for top in ('/proc/sys', '/sys', '/proc/irq', '/proc/bus', '/proc/fs', '/proc/acpi', '/proc/driver'):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                writable.append(os.path.join(folder, name))
            except OSError: pass
for name in ('sysrq-trigger', 'kcore', 'kmsg', 'kallsyms', 'timer_list', 'mtrr'):
    if attempt(lambda: os.close(os.open('/proc/' + name, os.O_WRONLY))) == 'ok': writable.append(name)
def write(path, text):
    with open(path, 'w') as file: file.write(text)
print(json.dumps({'writable': writable, 'cgroup files': [line for line in open('/proc/self/mounts') if ' cgroup' in line],
  'oom lower': attempt(lambda: write('/proc/self/oom_score_adj', '-500')), 'oom of 1': attempt(lambda: write('/proc/1/oom_score_adj', '-500')),
  'uid_map': attempt(lambda: write('/proc/self/uid_map', '0 0 1')), 'gid_map': attempt(lambda: write('/proc/1/gid_map', '0 0 1')), 'setgroups': attempt(lambda: write('/proc/self/setgroups', 'allow')),
  'loginuid': attempt(lambda: write('/proc/self/loginuid', '0')), 'attr': attempt(lambda: write('/proc/self/attr/current', 'unconfined')),
  'comm': attempt(lambda: write('/proc/self/comm', 'renamed')), 'sched': attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)),
  'realtime': attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))}))`;
    const { comm, loginuid: _, ...inside } = await probe<Record<string, unknown>>(sandbox, code);
    expect(inside).toMatchObject({ writable: [], 'cgroup files': [] });
    expect(Object.values(inside)).not.toContain('ok');
    // Control: what a process may say about itself, it may; and where it is root, it could write a setting.
    expect(comm).toBe('ok');
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
    expect(names.filter((name) => !['', 'PATH', 'SHLVL', 'PWD', '_', 'OLDPWD'].includes(name))).toEqual([]);
    // Control: the same probe reads the canary where the processes of the host are visible.
    const control = `print(json.dumps(os.environ['WANTED'] in open(f'/proc/{os.environ["HOST"]}/environ').read()))`;
    const visible = { HOST: String(sleeper.pid), WANTED: IN_ENVIRONMENT };
    expect(await probe(plain, control, { env: visible })).toBe(true);
  });

  it('8. the environment, the arguments and the control files of another sandbox stay out of sight', async () => {
    await using other = await open(target);
    const secret = `secret-${randomUUID()}`;
    const search = `
wanted = os.environ['WANTED'].encode()[::-1]
found, names = [], []
for top in ('/etc', '/workspace', '/tmp', '/dev', '/root', '/home', '/run', '/mnt', '/srv', '/media', '/opt', '/var', '/proc/1', '/proc/self', '/proc/sys/kernel/random'):
    for folder, folders, files in os.walk(top):
        if folder.startswith(sys.prefix): continue
        for name in files:
            path = os.path.join(folder, name)
            if name.startswith(('arguments-', 'seccomp')) and not folder.startswith('/proc'): names.append(path)
            try:
                if os.path.isfile(path) and '/task/' not in path and name not in ('pagemap', 'mem', 'clear_refs') and wanted in open(path, 'rb').read(1 << 20): found.append(path)
            except (OSError, ValueError): pass
print(json.dumps({'found': found, 'names': names}))`;
    const reversed = [...secret].reverse().join('');
    let seen: unknown;
    const result = await whileRunning(
      other,
      `print(json.dumps(os.environ['SECRET'] in open('/proc/self/environ').read()))`,
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
    expect(await probe(sandbox, code)).toEqual({ tty: 'ENXIO', input: '', session: true });
    expect(await probe(sandbox, 'print(json.dumps(sys.stdin.read()))', { stdin: 'given' })).toBe('given');
  });

  it('2. its input is no file of the host that it could write to', async () => {
    const code = `
def grow():
    fd = os.open('/proc/self/fd/0', os.O_RDWR | os.O_APPEND)
    os.write(fd, b'x' * 4096)
print(json.dumps({'grow': attempt(grow), 'chmod': attempt(lambda: os.chmod('/proc/self/fd/0', 0o777)), 'truncate': attempt(lambda: os.truncate('/proc/self/fd/0', 1 << 20)),
  'kept': sys.stdin.read(100)}))`;
    const inside = await probe<Record<string, string>>(sandbox, code, { stdin: 'the input' });
    // Its owner may write to it where it is a file of the sandbox's own, under the same limit as all others.
    const isOwn = await probe<boolean>(
      sandbox,
      "print(json.dumps(os.fstat(0).st_dev == os.stat('/workspace').st_dev))",
      { stdin: 'x' },
    );
    if (!isOwn) expect([inside['grow'], inside['truncate']]).not.toContain('ok');
    expect(inside['kept']).toContain('the input');
  });
});

describeMissing('isolation');
