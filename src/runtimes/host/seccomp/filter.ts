import { assemble, type Step } from './bpf.ts';
import { ABIS, type Abi, SYSCALLS, type SyscallName } from './syscalls.ts';

/**
 * A claim about the low half of one argument. The high half is left out because the kernel leaves it out:
 * each argument judged here is an int, or is cut to one, or fails with EINVAL when its high half is used.
 */
type Condition = { readonly argument: number; readonly mask?: number } & (
  | { readonly oneOf: Values }
  | { readonly noneOf: Values }
);

/** Never empty: a condition on no value would hold always. */
type Values = readonly [number, ...number[]];

/** Calls that fail with this error; each call stands in one rule only. */
export interface Rule {
  readonly refuse: readonly [SyscallName, ...SyscallName[]];
  readonly error: keyof typeof ERRORS;
  /** The call goes through when every condition of one of these lists holds. */
  readonly unless?: readonly (readonly Condition[])[];
  readonly because: string;
}

const ERRORS = { EPERM: 1, ENOSYS: 38 } as const;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. NEWTIME is no flag of clone: the bit is its signal's. */
const CLONE_NAMESPACES = 0x7e020000;
/** CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM: all that unshare takes and that makes no namespace. */
const UNSHARE_WITHOUT_NAMESPACE = 0x00050f00;

const [TIOCSTI, TIOCLINUX, TIOCSETD] = [0x5412, 0x541c, 0x5423];
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK] = [1, 2, 10, 16];
const [SOCK_STREAM, SOCK_DGRAM, SOCK_TYPE_MASK] = [1, 2, 0xf];
const [IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP, NETLINK_ROUTE] = [0, 6, 17, 0];

/**
 * What a program in a sandbox may not ask of the kernel. It is a floor under a program that has no
 * capabilities and cannot gain any: most of this would fail for that reason too, and must fail for both.
 */
export const RULES: readonly Rule[] = [
  {
    refuse: [
      'mount',
      'umount2',
      'pivot_root',
      'chroot',
      'move_mount',
      'mount_setattr',
      'fspick',
      'open_tree',
      'open_tree_attr',
      'fsopen',
      'fsconfig',
      'fsmount',
      'statmount',
      'listmount',
    ],
    error: 'EPERM',
    because: 'What the program sees of the file system is arranged from outside.',
  },
  {
    refuse: ['setns', 'listns'],
    error: 'EPERM',
    because: 'The program stays in the namespaces that it was put into.',
  },
  {
    refuse: ['clone'],
    error: 'EPERM',
    unless: [[{ argument: 0, mask: CLONE_NAMESPACES, oneOf: [0] }]],
    because: 'A new user namespace gives capabilities back, and with them most of the attack surface.',
  },
  {
    refuse: ['unshare'],
    error: 'EPERM',
    unless: [[{ argument: 0, mask: ~UNSHARE_WITHOUT_NAMESPACE, oneOf: [0] }]],
    because: 'As for clone; unknown flags too, since one that makes a mount namespace (0x100000) came late.',
  },
  {
    refuse: ['clone3'],
    error: 'ENOSYS',
    because: 'Its flags lie behind a pointer, out of sight. With this error libc falls back to clone.',
  },
  {
    refuse: ['ptrace', 'process_vm_readv', 'process_vm_writev', 'process_madvise', 'kcmp', 'pidfd_getfd'],
    error: 'EPERM',
    because: 'One process has no business inside another.',
  },
  {
    refuse: ['keyctl', 'add_key', 'request_key'],
    error: 'EPERM',
    because: 'Keyrings belong to a user, not to a namespace: sessions would share them.',
  },
  {
    refuse: ['io_uring_setup', 'io_uring_enter', 'io_uring_register'],
    error: 'EPERM',
    because: 'A ring makes system calls that no filter sees.',
  },
  {
    refuse: ['bpf', 'perf_event_open', 'userfaultfd'],
    error: 'EPERM',
    because: 'Each has opened the kernel to ordinary users more than once, and no ordinary program needs it.',
  },
  {
    refuse: ['kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'reboot'],
    error: 'EPERM',
    because: 'The kernel is not for the program to change or stop.',
  },
  {
    refuse: ['open_by_handle_at', 'name_to_handle_at'],
    error: 'EPERM',
    because: 'A handle reaches files that no path in the sandbox leads to.',
  },
  {
    refuse: ['fanotify_init', 'fanotify_mark'],
    error: 'EPERM',
    because: 'It watches and can hold up what others do with their files.',
  },
  {
    refuse: ['inotify_init', 'inotify_init1'],
    // Programs that watch files take this for an old kernel and look again and again instead.
    error: 'ENOSYS',
    because: 'A watch on the host’s own programs, which are shown read-only, tells which of them it starts.',
  },
  {
    refuse: [
      'settimeofday',
      'clock_settime',
      'clock_adjtime',
      'adjtimex',
      'sethostname',
      'setdomainname',
      'swapon',
      'swapoff',
      'quotactl',
      'quotactl_fd',
      'acct',
      'syslog',
      'vhangup',
      'iopl',
      'ioperm',
    ],
    error: 'EPERM',
    because: 'It administers the machine, or reads what the kernel tells its administrator.',
  },
  {
    refuse: ['mbind', 'set_mempolicy', 'set_mempolicy_home_node', 'migrate_pages', 'move_pages'],
    error: 'EPERM',
    because: 'Where memory lies is shared by all sessions, and moving pages tells about the neighbours.',
  },
  {
    refuse: ['lsm_get_self_attr', 'lsm_set_self_attr', 'lsm_list_modules'],
    error: 'EPERM',
    because: 'The security modules are for the operator; Landlock, which only tightens, remains.',
  },
  {
    refuse: ['memfd_secret'],
    error: 'EPERM',
    because: 'It makes memory that nobody outside can inspect, and forbids the machine to hibernate.',
  },
  {
    refuse: ['_sysctl', 'lookup_dcookie', 'modify_ldt', 'nfsservctl', 'sysfs', 'uselib', 'ustat'],
    error: 'EPERM',
    because:
      'Nothing current needs it: 16-bit segments, and interfaces that later kernels removed or replaced.',
  },
  {
    refuse: ['personality'],
    error: 'EPERM',
    // PER_LINUX, PER_LINUX32, UNAME26, both, and the question what is set: the list of Docker's profile.
    unless: [[{ argument: 0, oneOf: [0, 8, 0x20000, 0x20008, 0xffffffff] }]],
    because: 'The other values undo address randomisation and other protection of the program itself.',
  },
  {
    refuse: ['ioctl'],
    error: 'EPERM',
    unless: [[{ argument: 1, noneOf: [TIOCSTI, TIOCLINUX, TIOCSETD] }]],
    because:
      'The first two type into the terminal of whoever started us; the third loads drivers of line disciplines.',
  },
  {
    refuse: ['socket'],
    error: 'EPERM',
    unless: [
      [{ argument: 0, oneOf: [AF_UNIX] }],
      [
        { argument: 0, oneOf: [AF_INET, AF_INET6] },
        { argument: 1, mask: SOCK_TYPE_MASK, oneOf: [SOCK_STREAM, SOCK_DGRAM] },
        { argument: 2, oneOf: [IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP] },
      ],
      // getaddrinfo of libc and os.networkInterfaces of Node ask it for addresses.
      [
        { argument: 0, oneOf: [AF_NETLINK] },
        { argument: 2, oneOf: [NETLINK_ROUTE] },
      ],
    ],
    because: 'Raw and packet sockets, vsock, crypto and rarer protocols leave the namespace or load modules.',
  },
  {
    refuse: ['socketpair'],
    error: 'EPERM',
    unless: [[{ argument: 0, oneOf: [AF_UNIX] }]],
    because: 'As for socket; only this family makes pairs that ordinary programs use.',
  },
];

/** Offsets in `struct seccomp_data`; the low half of an argument comes first, both machines being little-endian. */
const OFFSETS = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const failWith = (error: Rule['error']): number => 0x00050000 + ERRORS[error];

/**
 * The seccomp filter for programs of this architecture, as `bwrap --seccomp` reads it; undefined where no
 * table of system calls exists, which is to be treated as: there is no filter.
 */
export function seccompFilter(architecture: NodeJS.Architecture): Uint8Array | undefined {
  if (!isKnown(architecture)) return undefined;
  return assemble([
    ...refuseForeign(ABIS[architecture]),
    ...refuseUnknown(ABIS[architecture]),
    ...RULES.flatMap((rule) => {
      const numbers = rule.refuse.flatMap((name) => SYSCALLS[name][architecture] ?? []);
      return refuseCalls(rule, numbers);
    }),
    { return: ALLOW },
  ]);
}

function isKnown(architecture: NodeJS.Architecture): architecture is keyof typeof ABIS {
  return Object.hasOwn(ABIS, architecture);
}

/** The numbers mean something else in another ABI (int 0x80, 32-bit arm), so no rule would hold. */
function refuseForeign({ auditArchitecture }: Abi): Step[] {
  return [
    { load: OFFSETS.architecture },
    { is: 'equal', value: auditArchitecture, ifTrue: 'native' },
    { return: KILL_PROCESS },
    { label: 'native' },
  ];
}

/**
 * A kernel newer than the table adds nothing unnoticed; programs take this error for an older kernel. The
 * numbers of x32 have bit 30 set and therefore end here too, as does what x64 keeps for x32 (512 to 547).
 */
function refuseUnknown({ knownNumbers }: Abi): Step[] {
  return [
    { load: OFFSETS.number },
    ...knownNumbers.flatMap(([first, last], index): Step[] => [
      { is: 'atLeast', value: first, ifFalse: 'unknown' },
      { is: 'atLeast', value: last + 1, ifTrue: `beyond ${index}`, ifFalse: 'known' },
      { label: `beyond ${index}` },
    ]),
    { label: 'unknown' },
    { return: failWith('ENOSYS') },
    { label: 'known' },
  ];
}

/** Expects the number of the call in the register and leaves it there when the call is another one. */
function refuseCalls({ refuse, error, unless = [] }: Rule, numbers: readonly number[]): Step[] {
  if (numbers.length === 0) return [];
  const [name] = refuse;
  return [
    ...anyOf(numbers, `${name}: judged`, `${name}: another`),
    { label: `${name}: judged` },
    ...unless.flatMap((conditions, index) => allowIf(conditions, `${name}: ${index}`)),
    { return: failWith(error) },
    { label: `${name}: another` },
  ];
}

function allowIf(conditions: readonly Condition[], name: string): Step[] {
  return [
    ...conditions.flatMap((condition, index): Step[] => {
      const [holds, fails] = [`${name}.${index}: holds`, `${name}: fails`];
      return [
        { load: OFFSETS.argument(condition.argument) },
        ...(condition.mask === undefined ? [] : [{ mask: condition.mask }]),
        ...('oneOf' in condition
          ? anyOf(condition.oneOf, holds, fails)
          : anyOf(condition.noneOf, fails, holds)),
        { label: holds },
      ];
    }),
    { return: ALLOW },
    { label: `${name}: fails` },
  ];
}

/** Goes to one of two labels, by whether the register holds one of the values. */
function anyOf(values: readonly number[], ifTrue: string, ifFalse: string): Step[] {
  return values.map((value, index) => ({
    is: 'equal',
    value,
    ifTrue,
    ...(index === values.length - 1 ? { ifFalse } : {}),
  }));
}
