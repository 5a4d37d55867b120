import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once as event } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import {
  AS_ROOT,
  answer,
  HELD,
  open,
  PLAIN,
  probe,
  processesWith,
  SKIPPED,
  scratch,
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
let listener: Server;
let abstractListener: Server;
const ABSTRACT = `glovebox-attack-${randomUUID()}`;

beforeAll(async () => {
  process.env['GLOVEBOX_ATTACK_CANARY'] = IN_ENVIRONMENT;
  sleeper = spawn('sleep', ['600'], { stdio: 'ignore' });
  await event(sleeper, 'spawn');
  plain = await open(PLAIN);
  listener = createServer((socket) => socket.on('error', () => {}).end(SECRET)).listen(0, '127.0.0.1');
  await event(listener, 'listening');
  abstractListener = createServer((socket) => socket.on('error', () => {}).end(SECRET)).listen({
    path: `\0${ABSTRACT}`,
  });
  await event(abstractListener, 'listening');
});

afterAll(async () => {
  delete process.env['GLOVEBOX_ATTACK_CANARY'];
  sleeper.kill('SIGKILL');
  for (const path of CANARIES) rmSync(path, { force: true });
  listener.close();
  abstractListener.close();
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
        const pids = processesWith(marker);
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

  it('11. has only its own loopback: no route, no host port, no socket of the host', async () => {
    const { port } = listener.address() as AddressInfo;
    const code = `
port, abstract = int(os.environ['PORT']), os.environ['ABSTRACT']
def tcp(host, to): socket.create_connection((host, to), timeout=2).close()
def unix(path):
    with socket.socket(socket.AF_UNIX) as client: client.settimeout(2); client.connect(path)
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client: client.sendto(b'x', ('192.0.2.1', 53))
print(json.dumps({'interfaces': [name for _, name in socket.if_nameindex()],
  'routes': [line for line in open('/proc/net/route').read().split('\\n')[1:] if line],
  'host port': attempt(lambda: tcp('127.0.0.1', port)), 'host port 6': attempt(lambda: tcp('::ffff:127.0.0.1', port)),
  'outside': attempt(lambda: tcp('192.0.2.1', 80)), 'udp': attempt(udp), 'name': attempt(lambda: socket.getaddrinfo('example.org', 80)),
  'abstract': attempt(lambda: unix('\\0' + abstract)), 'abstract padded': attempt(lambda: unix(('\\0' + abstract).ljust(108, '\\0'))), 'visible': abstract in open('/proc/net/unix').read(),
  'sockets': [path for path in ('/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/notify', '/dev/log') if attempt(lambda: unix(path)) == 'ok']}))`;
    const env = { PORT: String(port), ABSTRACT };
    const { name, ...inside } = await probe<Record<string, unknown>>(sandbox, code, { env });
    expect(inside).toEqual({
      interfaces: ['lo'],
      routes: [],
      visible: false,
      sockets: [],
      'host port': 'ECONNREFUSED',
      'host port 6': expect.stringMatching(/^E/),
      outside: 'ENETUNREACH',
      udp: 'ENETUNREACH',
      abstract: 'ECONNREFUSED',
      'abstract padded': 'ECONNREFUSED',
    });
    expect(name).not.toBe('ok');
    const control = await probe(plain, code.replace(/ {2}'outside'.*\n/, ''), { env });
    expect(control).toMatchObject({ 'host port': 'ok', visible: true });
    // Some versions of Node pad an abstract name with NULs.
    expect([
      (control as Record<string, string>)['abstract'],
      (control as Record<string, string>)['abstract padded'],
    ]).toContain('ok');
  });

  it("11. nothing comes in: a port that it opens is not the host's", async () => {
    const code = (address: string) => `
server = socket.socket(); server.bind(('${address}', 0)); server.listen()
open('/workspace/port', 'w').write(str(server.getsockname()[1]))`;
    let refused = '';
    await whileRunning(sandbox, code('0.0.0.0'), async () => {
      const port = Number((await sandbox.readFile('port')).content);
      refused = await tryConnect(port);
    });
    expect(refused).toBe('ECONNREFUSED');
    // Control: the same listener, inside, answers whoever shares its network.
    const within = `${code('127.0.0.1')}
socket.create_connection(server.getsockname(), timeout=2).close(); print(json.dumps('ok'))`;
    expect(await probe(sandbox, within)).toBe('ok');
  });

  const LEAVE = `
import fcntl
def leave():
    answers = {}
    for path in ('/tmp/left', '/dev/shm/left', '/workspace/left', os.path.expanduser('~/.profile'), '/var/tmp/left', '/run/left', '/run/lock/left'):
        answers[path] = attempt(lambda: open(path, 'w').write('left'))
    answers['shm'] = call(libc.shmget, 0x47423031, 4096, 0o1666)
    answers['sem'] = call(libc.semget, 0x47423032, 1, 0o1666)
    answers['msg'] = call(libc.msgget, 0x47423033, 0o1666)
    answers['mq'] = syscall(240, b'left', 0o102, 0o666, None)
    answers['key'] = syscall(248, b'user', b'left', b'x', 1, -4)
    global kept
    kept = socket.socket(socket.AF_UNIX); answers['abstract'] = attempt(lambda: kept.bind('\\0glovebox-left'))
    return answers
def find():
    found = [path for path in ('/tmp/left', '/dev/shm/left', '/workspace/left', os.path.expanduser('~/.profile'), '/var/tmp/left', '/run/left', '/run/lock/left') if os.path.lexists(path)]
    if libc.shmget(0x47423031, 0, 0) >= 0: found.append('shm')
    if libc.semget(0x47423032, 0, 0) >= 0: found.append('sem')
    if libc.msgget(0x47423033, 0) >= 0: found.append('msg')
    if syscall(240, b'left', 0, 0, None) == 'ok': found.append('mq')
    if syscall(249, b'user', b'left', None, 0) == 'ok': found.append('key')
    if 'glovebox-left' in open('/proc/net/unix').read(): found.append('abstract')
    if len(open('/proc/keys').read().split()) > 0: found.append('keys')
    return found
`;

  it('12. nothing passes to another sandbox, side by side or afterwards', async () => {
    const first = await open(target);
    let besides: unknown;
    let left: Record<string, string> = {};
    try {
      await using second = await open(target);
      const result = await whileRunning(
        first,
        `${LEAVE}\nprint(json.dumps({'left': leave(), 'found': find()}), flush=True)`,
        async () => {
          besides = await probe(second, `${LEAVE}\nprint(json.dumps(find()))`);
        },
      );
      const said = JSON.parse(result.stdout.split('\n')[0] ?? '') as {
        left: Record<string, string>;
        found: string[];
      };
      left = said.left;
      // Control: it did leave them, and the same search finds them where they are.
      expect(said.found).toEqual(
        expect.arrayContaining([
          '/tmp/left',
          '/dev/shm/left',
          '/workspace/left',
          'shm',
          'sem',
          'msg',
          'mq',
          'abstract',
        ]),
      );
    } finally {
      await first.close();
    }
    expect(left['key']).toBe('EPERM');
    expect(besides).toEqual([]);
    await using afterwards = await open(target);
    expect(await probe(afterwards, `${LEAVE}\nprint(json.dumps(find()))`)).toEqual([]);
  });

  it('12. IPC objects, sockets and keys do not even last from one run to the next', async () => {
    await using lasting = await open(target);
    await probe(lasting, `${LEAVE}\nprint(json.dumps(leave()))`);
    const found = await probe<string[]>(lasting, `${LEAVE}\nprint(json.dumps(find()))`);
    // Its files last: that is what a live sandbox is for.
    expect(found).toEqual(['/tmp/left', '/dev/shm/left', '/workspace/left', '/workspace/.profile']);
  });

  it('3. what the host and other sandboxes open and start is not seen through notifications', async () => {
    const code = `
import select
fd = libc.inotify_init1(0o4000)
for path in (b'/usr/bin', b'/workspace'):
    if fd >= 0: libc.inotify_add_watch(fd, path, 0x20)
print('ready', flush=True)
sys.stdin.read()
open('/workspace/own', 'w').close()
seen = b''
while fd >= 0 and select.select([fd], [], [], 0)[0]: seen += os.read(fd, 65536)
print(json.dumps({'own': b'own' in seen, 'host': b'uptime' in seen}))`;
    const result = await whileRunning(sandbox, code, () => execFileSync('/usr/bin/uptime'));
    const seen = answer<{ own: boolean; host: boolean }>(result);
    // Control: where a folder can be watched at all, what happens in its own is told.
    expect(seen).toEqual({ own: expect.any(Boolean), host: false });
  });

  it('12. its host name is its own', async () => {
    const name = await probe(
      sandbox,
      'print(json.dumps([socket.gethostname(), call(libc.sethostname, b"x", 1)]))',
    );
    expect(name).toEqual(['glovebox', 'EPERM']);
  });
});

if (HELD.length === 0) {
  describe.skip(`isolation in namespaces${SKIPPED}`, () => {
    it('is not tried', () => {});
  });
}

describe('isolation without namespaces to hold it', () => {
  it('12. a plain process of another sandbox does not find what the first left in its folders', async () => {
    const first = await open(PLAIN);
    const leave = `
for folder in (os.environ['HOME'], os.environ['TMPDIR']): open(folder + '/left', 'w').write('left')
print(json.dumps([os.environ['HOME'], os.environ['TMPDIR']]))`;
    const folders = await probe<string[]>(first, leave);
    const look = `print(json.dumps([os.path.exists(folder + '/left') for folder in json.loads(os.environ['FOLDERS'])]))`;
    const env = { FOLDERS: JSON.stringify(folders) };
    expect(await probe(first, look, { env })).toEqual([true, true]);
    await first.close();
    await using second = await open(PLAIN);
    expect(await probe(second, look, { env })).toEqual([false, false]);
  });

  it('13. what a plain process does not hold is said and can be refused', async () => {
    expect(plain.enforced).toMatchObject({
      isolation: 'process',
      filesystem: 'host',
      network: 'open',
      seccomp: false,
    });
    const result = await plain.execute('print(1)');
    expect(result.meta.warnings?.join(' ')).toContain('not held');
    for (const options of [
      { minIsolation: 'namespace' },
      { requires: { filesystem: 'private' } },
      { requires: { seccomp: true } },
      { network: 'none' },
      { diskMb: 10 },
    ] as const) {
      await expect(open(PLAIN, options), JSON.stringify(options)).rejects.toMatchObject({
        code: 'POLICY_NOT_ENFORCEABLE',
      });
    }
  });

  it.skipIf(!AS_ROOT || HELD.length === 0)(
    '13. where namespaces cannot be made, nobody falls back in silence (as root only)',
    async () => {
      const script = join(scratch, 'no-namespaces.mts');
      const source = new URL('../../src/', import.meta.url).pathname;
      writeFileSync(
        script,
        `import { writeFileSync } from 'node:fs';
import { bubblewrap } from '${source}runtimes/bubblewrap/index.ts';
import { local } from '${source}runtimes/local/index.ts';
import { getSandbox } from '${source}operations/getSandbox.ts';
const said = [];
const ask = async () => {
  for (const runtime of [bubblewrap(), local({ isolation: 'namespace' }), local({ isolation: 'auto' })]) {
    said.push(await getSandbox({ runtime, cwd: '${scratch}' }).execute('print(1)', { language: 'python' }).then(
      ({ outcome, meta }) => ({ outcome, isolation: meta.enforced?.isolation, warned: (meta.warnings ?? []).length > 0 }),
      ({ code, hint }) => ({ code, hinted: hint !== '' })));
  }
};
await ask();
console.log(JSON.stringify(said));
`,
      );
      const run = async (before: string): Promise<unknown[]> => {
        const child = spawn(
          'unshare',
          [
            '--user',
            '--map-root-user',
            'sh',
            '-c',
            `${before}; exec "$@"`,
            'sh',
            process.execPath,
            '--import',
            'tsx',
            script,
          ],
          { stdio: ['ignore', 'pipe', 'inherit'], cwd: join(source, '..') },
        );
        let text = '';
        child.stdout.on('data', (chunk) => {
          text += String(chunk);
        });
        await event(child, 'close');
        return JSON.parse(text) as unknown[];
      };
      const refused = { code: 'RUNTIME_UNAVAILABLE', hinted: true };
      expect(
        await run('echo 0 > /proc/sys/user/max_user_namespaces; echo 0 > /proc/sys/user/max_mnt_namespaces'),
      ).toEqual([refused, refused, { outcome: 'exited', isolation: 'process', warned: true }]);
    },
  );
});

describe('what the parent of the toolkit left open', () => {
  const source = new URL('../../src/', import.meta.url).pathname;

  async function inherit(withTerminal: boolean): Promise<Record<string, { fds: string[]; tty: string }>> {
    const script = join(scratch, `inherit-${randomUUID()}.mts`);
    const output = `${script}.json`;
    writeFileSync(
      script,
      `import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { bubblewrap } from '${source}runtimes/bubblewrap/index.ts';
import { local } from '${source}runtimes/local/index.ts';
import { getSandbox } from '${source}operations/getSandbox.ts';
const code = \`import json, os
fds = sorted(fd for fd in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + fd))
try: os.open('/dev/tty', os.O_RDWR); tty = 'ok'
except OSError as error: tty = str(error.errno)
print(json.dumps({'fds': fds, 'tty': tty, 'input': os.read(0, 10).decode()}))\`;
const said = {};
for (const runtime of [bubblewrap(), local({ isolation: 'namespace' }), local({ isolation: 'none' }), local({ isolation: 'none', cgroups: null })]) {
  const probe = await runtime.probe();
  if (!probe.available) continue;
  const result = await getSandbox({ runtime, cwd: '${scratch}' }).execute(code, { language: 'python' });
  said[runtime.name + ' ' + probe.version] = JSON.parse(result.stdout || JSON.stringify(result.stderr));
}
said.control = JSON.parse(spawnSync('python3', ['-c', code], { stdio: ['ignore', 'pipe', 'inherit'] }).stdout);
writeFileSync('${output}', JSON.stringify(said));
`,
    );
    const node = [process.execPath, '--import', 'tsx', script];
    const quoted = node.map((part) => `'${part}'`).join(' ');
    const start = `exec 17</ 200</etc 999</tmp; exec ${quoted}`;
    const command = withTerminal
      ? [
          'python3',
          '-c',
          'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))',
          'bash',
          '-c',
          start,
        ]
      : ['bash', '-c', start];
    const child = spawn(command[0] ?? '', command.slice(1), {
      stdio: ['pipe', 'ignore', 'inherit'],
      cwd: join(source, '..'),
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 50_000);
    child.stdin.write('typed by the operator\n');
    const [code] = (await event(child, 'close')) as [number | null];
    clearTimeout(timer);
    expect(code).toBe(0);
    return JSON.parse(readFileSync(output, 'utf8')) as Record<string, { fds: string[]; tty: string }>;
  }

  it('9. no descriptor above 2 reaches the program', async () => {
    const { control, ...said } = await inherit(false);
    for (const [name, { fds }] of Object.entries(said)) expect([name, fds]).toEqual([name, ['0', '1', '2']]);
    // Control: an ordinary child of the same process has at least one of them.
    expect(control?.fds.filter((fd) => ['17', '200', '999'].includes(fd))).not.toEqual([]);
  });

  it('10. no terminal of the operator, and nothing that was typed there', async () => {
    const { control, ...said } = await inherit(true);
    for (const [name, facts] of Object.entries(said)) {
      expect([name, facts]).toEqual([
        name,
        { fds: ['0', '1', '2'], tty: expect.not.stringMatching('ok'), input: '' },
      ]);
    }
    expect(control?.tty).toBe('ok');
  });
});

async function tryConnect(port: number): Promise<string> {
  const { connect } = await import('node:net');
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve('ok');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'failed'));
  });
}
