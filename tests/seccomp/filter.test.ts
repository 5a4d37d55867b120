import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { arch } from 'node:process';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/runtimes/host/executables.ts';
import { seccompFilter } from '../../src/runtimes/host/seccomp/filter.ts';
import { SYSCALLS, type SyscallName } from '../../src/runtimes/host/seccomp/syscalls.ts';

const BWRAP = await findExecutable('bwrap');
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Everything readable, a /tmp to write to, and these programs even when the checkout lies in /tmp. */
const FILES = [
  ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
  ...['--ro-bind', file('.'), file('.')],
];
/** The same line with the filter and without it, so that nothing else can be the reason for a difference. */
const CONFINED = [...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'], ...FILES];
/** All capabilities of the machine's root, for calls that fail with EPERM for everybody else. */
const PRIVILEGED = [
  ...[
    '--unshare-pid',
    '--unshare-net',
    '--unshare-uts',
    '--unshare-ipc',
    '--die-with-parent',
    '--new-session',
  ],
  ...FILES,
];

interface Outcome {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function bwrap(
  options: readonly string[],
  command: readonly string[],
  filter?: Uint8Array,
): Promise<Outcome> {
  const seccomp = filter === undefined ? [] : ['--seccomp', '3'];
  const child = spawn(BWRAP ?? 'missing', [...options, ...seccomp, ...command], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close');
  (child.stdio[3] as Writable).end(filter);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
  ]);
  const [exit] = (await exited) as [number | null];
  return { exit, stdout, stderr };
}

function bubblewrapProblem(): string | undefined {
  if (BWRAP === undefined) return 'bubblewrap is not installed';
  const { status, stderr } = spawnSync(BWRAP, [...CONFINED, 'true'], { encoding: 'utf8' });
  if (status !== 0) return `bubblewrap does not work here: ${stderr.trim()}`;
  return seccompFilter(arch) === undefined ? `there is no filter for ${arch}` : undefined;
}

interface Probe {
  readonly call: SyscallName;
  readonly what?: string;
  readonly arguments: readonly number[];
  readonly refused?: string;
}

/** A pointer to nothing, and a descriptor of nothing. */
const [BAD, NONE] = [1, -1];
const SIGCHLD = 17;
const CLONE_NEW = {
  NS: 0x20000,
  CGROUP: 0x2000000,
  UTS: 0x4000000,
  IPC: 0x8000000,
  PID: 0x20000000,
  NET: 0x40000000,
};
const NEWUSER = 0x10000000;

/** Calls that do nothing even where they are allowed: their arguments are wrong, or only a child sees the effect. */
const PROBES: readonly Probe[] = [
  { call: 'unshare', what: 'NEWUSER', arguments: [NEWUSER] },
  { call: 'clone', what: 'NEWUSER', arguments: [NEWUSER + SIGCHLD, 0, 0, 0, 0] },
  ...Object.entries(CLONE_NEW).flatMap(([name, bit]): Probe[] => [
    { call: 'unshare', what: `NEWUSER and NEW${name}`, arguments: [NEWUSER + bit] },
    { call: 'clone', what: `NEWUSER and NEW${name}`, arguments: [NEWUSER + bit + SIGCHLD, 0, 0, 0, 0] },
  ]),
  { call: 'clone3', arguments: [0, 0], refused: 'ENOSYS' },
  { call: 'setns', arguments: [NONE, 0] },
  { call: 'listns', arguments: [BAD, BAD, 1, 0] },
  { call: 'open_tree', arguments: [NONE, BAD, -1] },
  { call: 'open_tree_attr', arguments: [NONE, BAD, 0, BAD, 8] },
  { call: 'statmount', arguments: [BAD, BAD, 8, 0] },
  { call: 'listmount', arguments: [BAD, BAD, 8, 0] },
  { call: 'ptrace', what: 'TRACEME', arguments: [0, 0, 0, 0] },
  { call: 'process_vm_readv', arguments: [1, 0, 0, 0, 0, 0] },
  { call: 'process_vm_writev', arguments: [1, 0, 0, 0, 0, 0] },
  { call: 'process_madvise', arguments: [NONE, 0, 0, 0, 0] },
  { call: 'kcmp', arguments: [1, 1, 99, 0, 0] },
  { call: 'pidfd_getfd', arguments: [NONE, 0, 0] },
  { call: 'keyctl', arguments: [0, -3, 0] },
  { call: 'add_key', arguments: [BAD, BAD, 0, 0, -3] },
  { call: 'request_key', arguments: [BAD, BAD, 0, 0] },
  { call: 'perf_event_open', arguments: [BAD, 0, -1, -1, -1] },
  { call: 'userfaultfd', what: 'user mode only', arguments: [1] },
  { call: 'io_uring_setup', arguments: [1, BAD] },
  { call: 'io_uring_enter', arguments: [NONE, 0, 0, 0, 0, 0] },
  { call: 'io_uring_register', arguments: [NONE, 0, 0, 0] },
  { call: 'name_to_handle_at', arguments: [NONE, BAD, BAD, BAD, -1] },
  { call: 'clock_settime', arguments: [99, BAD] },
  { call: 'clock_adjtime', arguments: [99, BAD] },
  { call: 'adjtimex', arguments: [BAD] },
  { call: 'settimeofday', arguments: [BAD, 0] },
  { call: 'quotactl_fd', arguments: [NONE, -1, 0, 0] },
  { call: 'ioperm', arguments: [70_000, 1, 0] },
  { call: 'iopl', arguments: [99] },
  { call: 'fanotify_mark', arguments: [NONE, 0, 0, NONE, 0] },
  { call: 'mbind', arguments: [1, 0, 0, 0, 0, -1] },
  { call: 'set_mempolicy', arguments: [99, 0, 0] },
  { call: 'set_mempolicy_home_node', arguments: [1, 0, 0, 1] },
  { call: 'migrate_pages', arguments: [999_999, 8, 0, 0] },
  { call: 'move_pages', arguments: [0, 1, BAD, BAD, BAD, -1] },
  { call: 'lsm_get_self_attr', arguments: [0, BAD, BAD, -1] },
  { call: 'lsm_set_self_attr', arguments: [0, BAD, 0, -1] },
  { call: 'lsm_list_modules', arguments: [BAD, BAD, -1] },
  { call: 'memfd_secret', arguments: [-1] },
  { call: 'modify_ldt', arguments: [99, 0, 0] },
  { call: 'sysfs', arguments: [99] },
  { call: 'ustat', arguments: [0, BAD] },
  { call: '_sysctl', arguments: [BAD] },
  { call: 'uselib', arguments: [BAD] },
  { call: 'nfsservctl', arguments: [0, 0, 0] },
  { call: 'lookup_dcookie', arguments: [0, BAD, 0] },
  { call: 'personality', what: 'ADDR_NO_RANDOMIZE', arguments: [0x40000] },
  { call: 'ioctl', what: 'TIOCSTI', arguments: [0, 0x5412, BAD] },
  { call: 'ioctl', what: 'TIOCSTI with the high half set', arguments: [0, 0x1_0000_5412, BAD] },
  { call: 'ioctl', what: 'TIOCLINUX', arguments: [0, 0x541c, BAD] },
  { call: 'ioctl', what: 'TIOCSETD', arguments: [0, 0x5423, BAD] },
  { call: 'socket', what: 'AF_VSOCK', arguments: [40, 1, 0] },
  { call: 'socket', what: 'AF_VSOCK with the high half set', arguments: [0x1_0000_0028, 1, 0] },
  { call: 'socket', what: 'AF_ALG', arguments: [38, 5, 0] },
  { call: 'socket', what: 'AF_BLUETOOTH', arguments: [31, 3, 99] },
  { call: 'socket', what: 'AF_TIPC', arguments: [30, 1, 0] },
  { call: 'socket', what: 'SCTP', arguments: [2, 1, 132] },
  { call: 'socket', what: 'netlink of kernel events', arguments: [16, 3, 15] },
  { call: 'socket', what: 'netlink of netfilter', arguments: [16, 3, 12] },
  { call: 'socketpair', what: 'AF_INET', arguments: [2, 1, 0, BAD] },
];

/** Calls that fail with EPERM for want of a capability too. */
const PRIVILEGED_PROBES: readonly Probe[] = [
  ...Object.entries(CLONE_NEW).map(
    ([name, bit]): Probe => ({ call: 'unshare', what: `NEW${name}`, arguments: [bit] }),
  ),
  { call: 'mount', arguments: [BAD, BAD, BAD, 0, 0] },
  { call: 'umount2', arguments: [BAD, 0] },
  { call: 'pivot_root', arguments: [BAD, BAD] },
  { call: 'chroot', arguments: [BAD] },
  { call: 'move_mount', arguments: [NONE, BAD, NONE, BAD, 0] },
  { call: 'mount_setattr', arguments: [NONE, BAD, 0, BAD, 0] },
  { call: 'fsopen', arguments: [BAD, 0] },
  { call: 'fsconfig', arguments: [NONE, 99, 0, 0, 0] },
  { call: 'fsmount', arguments: [NONE, 0, 0] },
  { call: 'fspick', arguments: [NONE, BAD, 0] },
  { call: 'bpf', arguments: [9999, 0, 0] },
  { call: 'userfaultfd', arguments: [-2] },
  { call: 'kexec_load', arguments: [0, 1000, 0, 0] },
  { call: 'kexec_file_load', arguments: [NONE, NONE, 0, 0, -1] },
  { call: 'init_module', arguments: [BAD, 0, BAD] },
  { call: 'finit_module', arguments: [NONE, BAD, -1] },
  { call: 'delete_module', arguments: [BAD, 0] },
  { call: 'reboot', arguments: [0, 0, 0, 0] },
  { call: 'open_by_handle_at', arguments: [NONE, BAD, 0] },
  { call: 'fanotify_init', arguments: [-1, 0] },
  { call: 'swapon', arguments: [BAD, 0] },
  { call: 'swapoff', arguments: [BAD] },
  { call: 'quotactl', arguments: [-1, BAD, 0, 0] },
  { call: 'acct', arguments: [BAD] },
  { call: 'syslog', arguments: [99, 0, 0] },
  { call: 'vhangup', arguments: [] },
  { call: 'sethostname', arguments: [BAD, -1] },
  { call: 'setdomainname', arguments: [BAD, -1] },
  { call: 'socket', what: 'AF_PACKET', arguments: [17, 3, 0] },
  { call: 'socket', what: 'AF_INET raw', arguments: [2, 3, 1] },
  { call: 'socket', what: 'AF_INET6 raw', arguments: [10, 3, 58] },
  { call: 'socket', what: 'AF_INET of type SOCK_PACKET', arguments: [2, 10, 0] },
];

/** Calls next to the refused ones. */
const ALLOWED_PROBES: readonly Probe[] = [
  { call: 'unshare', what: 'CLONE_FILES and CLONE_FS', arguments: [0x600] },
  { call: 'clone', what: 'fork', arguments: [SIGCHLD, 0, 0, 0, 0] },
  { call: 'personality', what: 'the question', arguments: [0xffffffff] },
  { call: 'socket', what: 'TCP', arguments: [2, 1, 6] },
  { call: 'socket', what: 'the route netlink', arguments: [16, 3, 0] },
  { call: 'socket', what: 'AF_UNIX', arguments: [1, 1, 0] },
];

/** `mov eax, 20; int 0x80; ret`: getpid, through the entry for 32-bit programs. */
const INT_80 = 'b814000000cd80c3';
/** `mov eax, 39; syscall; ret`: getpid again, the native way. */
const SYSCALL = 'b8270000000f05c3';

const title = ({ call, what }: Probe): string => (what === undefined ? call : `${call} (${what})`);
const existing = (probes: readonly Probe[]): readonly Probe[] =>
  probes.filter(({ call }) => numberOf(call) !== undefined);
const numberOf = (call: SyscallName): number | undefined =>
  arch === 'x64' || arch === 'arm64' ? SYSCALLS[call][arch] : undefined;

type Answers = Readonly<Record<string, string>>;

async function answers(
  options: readonly string[],
  probes: readonly Probe[],
  filter?: Uint8Array,
): Promise<Answers> {
  const calls = existing(probes).map((probe) => [numberOf(probe.call), probe.arguments]);
  const given = await runProbe(options, calls, filter);
  return Object.fromEntries(
    existing(probes).map((probe, index) => [title(probe), given[index] ?? 'no answer']),
  );
}

async function runProbe(
  options: readonly string[],
  calls: readonly unknown[],
  filter?: Uint8Array,
): Promise<readonly string[]> {
  const { exit, stdout, stderr } = await bwrap(
    options,
    [PYTHON, '-I', file('probe.py'), JSON.stringify(calls)],
    filter,
  );
  if (exit !== 0) throw new Error(`The probe ended with ${exit}: ${stderr}`);
  return JSON.parse(stdout) as string[];
}

const expected = (probes: readonly Probe[]): Answers =>
  Object.fromEntries(existing(probes).map((probe) => [title(probe), probe.refused ?? 'EPERM']));
const same = (left: Answers, right: Answers): string[] =>
  Object.keys(left).filter((call) => left[call] === right[call]);

const problem = bubblewrapProblem();
const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').includes('bubblewrap');
const asRoot = process.getuid?.() === 0;
const reason = problem === undefined || required ? '' : ` (skipped: ${problem})`;

describe.skipIf(reason !== '')(`the filter under bubblewrap${reason}`, () => {
  const filter = seccompFilter(arch);

  beforeAll(() => {
    if (problem !== undefined) throw new Error(`bubblewrap is required, but ${problem}.`);
  });

  it('is in force: the kernel says so of the program', async () => {
    const command = ['grep', '^Seccomp:', '/proc/self/status'];
    expect((await bwrap(CONFINED, command, filter)).stdout).toBe('Seccomp:\t2\n');
    expect((await bwrap(CONFINED, command)).stdout).toBe('Seccomp:\t0\n');
  });

  it('refuses calls that the kernel answers otherwise without it', async () => {
    const refused = await answers(CONFINED, PROBES, filter);
    expect(refused).toEqual(expected(PROBES));
    expect(same(refused, await answers(CONFINED, PROBES))).toEqual([]);
  });

  it.skipIf(!asRoot)(
    `refuses calls that the kernel would answer to root${asRoot ? '' : ' (skipped: the control needs root)'}`,
    async () => {
      const refused = await answers(PRIVILEGED, PRIVILEGED_PROBES, filter);
      expect(refused).toEqual(expected(PRIVILEGED_PROBES));
      expect(same(refused, await answers(PRIVILEGED, PRIVILEGED_PROBES))).toEqual([]);
    },
  );

  it('lets their harmless neighbours through', async () => {
    const allowed = await answers(CONFINED, ALLOWED_PROBES, filter);
    expect(new Set(Object.values(allowed))).toEqual(new Set(['ok']));
  });

  it.skipIf(arch !== 'x64')('kills a 64-bit program that makes a 32-bit call (int 0x80)', async (context) => {
    const [control] = await runProbe(CONFINED, [INT_80]);
    if (control !== 'ok') context.skip(`this kernel has no 32-bit calls: ${control}`);
    expect(await runProbe(CONFINED, [INT_80, SYSCALL], filter)).toEqual(['SIGSYS', 'ok']);
  });

  it.each([
    ['Python', [PYTHON, '-I', file('ordinary.py')], 16],
    ['Node', [process.execPath, fileURLToPath(new URL('./ordinary.mjs', import.meta.url))], 8],
    ['bash', ['bash', file('ordinary.sh')], 12],
  ])('lets ordinary programs in %s work', async (_, command, parts) => {
    const { exit, stdout, stderr } = await bwrap(CONFINED, command, filter);
    const lines = stdout.trim().split('\n');
    expect({ exit, stderr, failed: lines.filter((line) => !line.endsWith(' works')) }).toEqual({
      exit: 0,
      stderr: '',
      failed: [],
    });
    expect(lines).toHaveLength(parts);
  });
});
