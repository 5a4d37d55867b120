import { arch } from 'node:process';
import { SYSCALLS, type SyscallName } from '../../src/runtimes/host/seccomp/syscalls.ts';

/** A call to try, and what it answers where it is refused: EPERM unless said otherwise. */
export interface Probe {
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
export const PROBES: readonly Probe[] = [
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
export const PRIVILEGED_PROBES: readonly Probe[] = [
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
export const ALLOWED_PROBES: readonly Probe[] = [
  { call: 'unshare', what: 'CLONE_FILES and CLONE_FS', arguments: [0x600] },
  { call: 'clone', what: 'fork', arguments: [SIGCHLD, 0, 0, 0, 0] },
  { call: 'personality', what: 'the question', arguments: [0xffffffff] },
  { call: 'socket', what: 'TCP', arguments: [2, 1, 6] },
  { call: 'socket', what: 'the route netlink', arguments: [16, 3, 0] },
  { call: 'socket', what: 'AF_UNIX', arguments: [1, 1, 0] },
];

/** `mov eax, 20; int 0x80; ret`: getpid, through the entry for 32-bit programs. */
export const INT_80 = 'b814000000cd80c3';
/** `mov eax, 39; syscall; ret`: getpid again, the native way. */
export const SYSCALL = 'b8270000000f05c3';

/** What each probe answered, by its title. */
export type Answers = Readonly<Record<string, string>>;

/** Makes the calls that this architecture has; `run` hands them to probe.py and gives its answers back. */
export async function answersTo(
  probes: readonly Probe[],
  run: (calls: readonly unknown[]) => Promise<readonly string[]>,
): Promise<Answers> {
  const there = existing(probes);
  const given = await run(there.map((probe) => [numberOf(probe.call), probe.arguments]));
  return Object.fromEntries(there.map((probe, index) => [title(probe), given[index] ?? 'no answer']));
}

/** What the probes answer where all of them are refused. */
export const refusals = (probes: readonly Probe[]): Answers =>
  Object.fromEntries(existing(probes).map((probe) => [title(probe), probe.refused ?? 'EPERM']));

/** The probes that two runs answered alike, so that they prove nothing. */
export const same = (left: Answers, right: Answers): string[] =>
  Object.keys(left).filter((call) => left[call] === right[call]);

const title = ({ call, what }: Probe): string => (what === undefined ? call : `${call} (${what})`);
const existing = (probes: readonly Probe[]): readonly Probe[] =>
  probes.filter(({ call }) => numberOf(call) !== undefined);
const numberOf = (call: SyscallName): number | undefined =>
  arch === 'x64' || arch === 'arm64' ? SYSCALLS[call][arch] : undefined;
