import { describe, expect, it } from 'vitest';
import { evaluate, objections } from '../../../../tests/seccomp/evaluate.ts';
import { RULES, seccompFilter } from './filter.ts';
import { SYSCALLS, type SyscallName } from './syscalls.ts';

const [EPERM, ENOSYS] = [1, 38];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const FOREIGN = { i386: 0x40000003, arm: 0x40000028, x64: 0xc000003e, arm64: 0xc00000b7, none: 0 } as const;

/** Written out a second time, so that a call cannot leave the policy by a slip in it. */
const REFUSED_WHATEVER_THE_ARGUMENTS = {
  x64: [
    ...[
      '_sysctl',
      'acct',
      'add_key',
      'adjtimex',
      'bpf',
      'chroot',
      'clock_adjtime',
      'clock_settime',
      'delete_module',
    ],
    ...[
      'fanotify_init',
      'fanotify_mark',
      'finit_module',
      'fsconfig',
      'fsmount',
      'fsopen',
      'fspick',
      'init_module',
    ],
    ...['io_uring_enter', 'io_uring_register', 'io_uring_setup', 'ioperm', 'iopl', 'kcmp', 'kexec_file_load'],
    ...[
      'kexec_load',
      'keyctl',
      'listmount',
      'listns',
      'lookup_dcookie',
      'lsm_get_self_attr',
      'lsm_list_modules',
    ],
    ...[
      'lsm_set_self_attr',
      'mbind',
      'memfd_secret',
      'migrate_pages',
      'modify_ldt',
      'mount',
      'mount_setattr',
    ],
    ...['move_mount', 'move_pages', 'name_to_handle_at', 'nfsservctl', 'open_by_handle_at', 'open_tree'],
    ...[
      'open_tree_attr',
      'perf_event_open',
      'pidfd_getfd',
      'pivot_root',
      'process_madvise',
      'process_vm_readv',
    ],
    ...['process_vm_writev', 'ptrace', 'quotactl', 'quotactl_fd', 'reboot', 'request_key', 'set_mempolicy'],
    ...[
      'set_mempolicy_home_node',
      'setdomainname',
      'sethostname',
      'setns',
      'settimeofday',
      'statmount',
      'swapoff',
    ],
    ...['swapon', 'sysfs', 'syslog', 'umount2', 'uselib', 'userfaultfd', 'ustat', 'vhangup'],
  ],
  get arm64() {
    const absent = ['_sysctl', 'ioperm', 'iopl', 'modify_ldt', 'sysfs', 'uselib', 'ustat'];
    return this.x64.filter((name) => !absent.includes(name));
  },
};

const CLONE_NEW = {
  NEWNS: 0x20000n,
  NEWCGROUP: 0x2000000n,
  NEWUTS: 0x4000000n,
  NEWIPC: 0x8000000n,
  NEWUSER: 0x10000000n,
  NEWPID: 0x20000000n,
  NEWNET: 0x40000000n,
};
/** What glibc's pthread_create, fork and vfork pass. */
const THREAD = 0x3d0f00n;
const FORK = 0x01200011n;
const VFORK = 0x4111n;
/** Bits that the kernel drops when it takes a 32-bit argument. */
const HIGH = 0xdeadbeef_00000000n;

const [UNIX, INET, INET6, NETLINK] = [1n, 2n, 10n, 16n];
const [STREAM, DGRAM, RAW, SEQPACKET, PACKET_TYPE, CLOEXEC] = [1n, 2n, 3n, 5n, 10n, 0o2000000n];

type Row = readonly [name: SyscallName, what: string, ...values: bigint[]];

const REFUSED: readonly Row[] = [
  ...Object.entries(CLONE_NEW).flatMap(([flag, bit]): Row[] => [
    ['clone', flag, bit],
    ['clone', `${flag} among the flags of a thread`, bit | THREAD],
    ['clone', `${flag} below high bits`, bit | HIGH],
    ['unshare', flag, bit],
    ['unshare', `${flag} with CLONE_FILES`, bit | 0x400n],
  ]),
  ['unshare', 'NEWTIME', 0x80n],
  ['unshare', 'UNSHARE_EMPTY_MNTNS', 0x100000n],
  ['personality', 'ADDR_NO_RANDOMIZE', 0x40000n],
  ['personality', 'READ_IMPLIES_EXEC', 0x400000n],
  ['personality', 'ADDR_NO_RANDOMIZE below high bits', 0x1_00040000n],
  ['personality', 'another system', 6n],
  ['ioctl', 'TIOCSTI', 0n, 0x5412n],
  ['ioctl', 'TIOCSTI with the high half set', 0n, 0x1_0000_5412n],
  ['ioctl', 'TIOCSTI with a negative high half', 0n, -0x1_0000_0000n | 0x5412n],
  ['ioctl', 'TIOCLINUX', 0n, 0x541cn],
  ['ioctl', 'TIOCLINUX with the high half set', 0n, HIGH | 0x541cn],
  ['ioctl', 'TIOCSETD', 0n, 0x5423n],
  ...[0, 3, 4, 9, 15, 17, 21, 29, 31, 38, 39, 40, 41, 42, 43, 44, 45, 999].map(
    (family): Row => ['socket', `family ${family}`, BigInt(family), STREAM, 0n],
  ),
  ['socket', 'AF_VSOCK below high bits', HIGH | 40n, STREAM, 0n],
  ['socket', 'AF_VSOCK with AF_UNIX in the high half', 0x1_0000_0028n, STREAM, 0n],
  ['socket', 'a negative family', -1n, STREAM, 0n],
  ['socket', 'AF_INET raw', INET, RAW, 0n],
  ['socket', 'AF_INET raw, close-on-exec', INET, RAW | CLOEXEC, 1n],
  ['socket', 'AF_INET raw with the high half set', INET, HIGH | RAW, 0n],
  ['socket', 'AF_INET6 raw', INET6, RAW, 58n],
  ['socket', 'AF_INET of type SOCK_PACKET, which becomes AF_PACKET', INET, PACKET_TYPE, 0n],
  ['socket', 'AF_INET seqpacket, which is SCTP', INET, SEQPACKET, 0n],
  ['socket', 'AF_INET of type DCCP', INET, 6n, 33n],
  ['socket', 'SCTP', INET, STREAM, 132n],
  ['socket', 'ICMP', INET, DGRAM, 1n],
  ['socket', 'SMC by way of AF_INET', INET, STREAM, 256n],
  ...[2, 4, 6, 9, 10, 12, 15, 16, 21].map(
    (protocol): Row => ['socket', `netlink ${protocol}`, NETLINK, RAW, BigInt(protocol)],
  ),
  ['socketpair', 'AF_INET', INET, STREAM, 0n],
  ['socketpair', 'AF_TIPC', 30n, STREAM, 0n],
  ['socketpair', 'AF_TIPC with AF_UNIX in the high half', 0x1_0000_001en, STREAM, 0n],
];

const ALLOWED: readonly Row[] = [
  ['clone', 'a thread', THREAD],
  ['clone', 'fork', FORK],
  ['clone', 'vfork', VFORK],
  ['clone', 'an exit signal that has the bit of CLONE_NEWTIME', 0x80n],
  ['clone', 'a namespace flag in the high half, which is dropped', 0x10000000_00000011n],
  ['unshare', 'CLONE_FILES', 0x400n],
  ['unshare', 'CLONE_FS', 0x200n],
  ['unshare', 'all that makes no namespace', 0x50f00n],
  ...[0n, 8n, 0x20000n, 0x20008n, 0xffffffffn].map(
    (value): Row => ['personality', `0x${value.toString(16)}`, value],
  ),
  ['personality', 'the question, with its sign extended', -1n],
  ['ioctl', 'TCGETS', 0n, 0x5401n],
  ['ioctl', 'TIOCGWINSZ', 0n, 0x5413n],
  ['ioctl', 'FIONBIO', 0n, 0x5421n],
  ['ioctl', 'FIOCLEX', 0n, 0x5451n],
  ['ioctl', 'TCGETS on a descriptor that looks like TIOCSTI', 0x5412n, 0x5401n, 0x5412n],
  ['socket', 'AF_UNIX stream', UNIX, STREAM, 0n],
  ['socket', 'AF_UNIX datagram', UNIX, DGRAM | CLOEXEC, 0n],
  ['socket', 'AF_UNIX seqpacket', UNIX, SEQPACKET, 0n],
  ['socket', 'AF_UNIX with the high half set', HIGH | UNIX, STREAM, 0n],
  ...[INET, INET6].flatMap((family): Row[] => [
    ['socket', `TCP of family ${family}`, family, STREAM, 0n],
    ['socket', `TCP of family ${family}, named`, family, STREAM | CLOEXEC | 0o4000n, 6n],
    ['socket', `UDP of family ${family}`, family, DGRAM, 0n],
    ['socket', `UDP of family ${family}, named`, family, DGRAM | CLOEXEC, 17n],
  ]),
  ['socket', 'the route netlink, raw as libc asks for it', NETLINK, RAW | CLOEXEC, 0n],
  ['socket', 'the route netlink, datagram', NETLINK, DGRAM, 0n],
  ['socketpair', 'AF_UNIX', UNIX, STREAM, 0n],
];

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
const asCase = ([name, what, ...values]: Row) => ({ name, what, values });

describe.each(['x64', 'arm64'] as const)('the filter for %s', (architecture) => {
  const program = seccompFilter(architecture) ?? new Uint8Array();
  const ask = (number: number, values: readonly bigint[] = [], audit: number = AUDIT[architecture]) =>
    evaluate(program, { architecture: audit, number, arguments: values });
  const askByName = (name: SyscallName, values: readonly bigint[] = []) => {
    const number = SYSCALLS[name][architecture];
    if (number === undefined) throw new Error(`${architecture} has no ${name}.`);
    return ask(number, values);
  };

  /** One more than the last number of the older calls. */
  const endOfFirst = { x64: 337, arm64: 295 }[architecture];

  it('is a program that the kernel takes', () => {
    expect(objections(program)).toEqual([]);
    expect(program.length / 8).toBeGreaterThan(100);
  });

  it.each(REFUSED.map(asCase))('refuses $name: $what', ({ name, values }) => {
    expect(askByName(name, values)).toBe(EPERM);
  });

  it.each(ALLOWED.map(asCase))('allows $name: $what', ({ name, values }) => {
    expect(askByName(name, values)).toBe('allow');
  });

  it.each([
    ['zero', 0n],
    ['one', 1n],
    ['all bits', -1n],
  ])('refuses what it refuses whatever the arguments (%s), and no other number', (_, value) => {
    const judgedByArguments: SyscallName[] = [
      'clone',
      'unshare',
      'personality',
      'ioctl',
      'socket',
      'socketpair',
    ];
    const names = new Map<number | undefined, string>(
      Object.entries(SYSCALLS).map(([name, row]) => [row[architecture], name]),
    );
    const skipped = new Set<number | undefined>(
      judgedByArguments.map((name) => SYSCALLS[name][architecture]),
    );
    const refused = [...range(0, endOfFirst), ...range(424, 472)]
      .filter((number) => !skipped.has(number))
      .map((number) => [names.get(number) ?? number, ask(number, Array<bigint>(6).fill(value))])
      .filter(([, verdict]) => verdict !== 'allow');
    const expected = [
      ['clone3', ENOSYS],
      ...(architecture === 'x64' ? [['inotify_init', ENOSYS]] : []),
      ['inotify_init1', ENOSYS],
      ...REFUSED_WHATEVER_THE_ARGUMENTS[architecture].map((name) => [name, EPERM]),
    ];
    expect(refused.sort()).toEqual(expected.sort());
  });

  it('says that clone3 does not exist, whatever it is given', () => {
    expect([[], [1n, 88n], [-1n, -1n]].map((values) => askByName('clone3', values))).toEqual([
      ENOSYS,
      ENOSYS,
      ENOSYS,
    ]);
  });

  it('says of every number beyond the table that it does not exist', () => {
    const beyond = [...range(endOfFirst, 424), ...range(472, 1000), 0x3fffffff, 0x7fffffff, -1];
    expect(beyond.filter((number) => ask(number) !== ENOSYS)).toEqual([]);
    expect([0, endOfFirst - 1, 424, 471].filter((number) => ask(number) === ENOSYS)).toEqual([]);
  });

  it('says of every call with the x32 bit that it does not exist', () => {
    const numbers = range(0x40000000, 0x40000000 + 600);
    expect(numbers.filter((number) => ask(number) !== ENOSYS)).toEqual([]);
  });

  it('kills a program that calls through another ABI, whatever the number', () => {
    const foreign = Object.values(FOREIGN).filter((audit) => audit !== AUDIT[architecture]);
    const verdicts = foreign.flatMap((audit) =>
      [0, 1, 20, 39, 60, 231, 471, 472, -1].map((n) => ask(n, [], audit)),
    );
    expect(new Set(verdicts)).toEqual(new Set(['kill']));
    expect(ask(0)).toBe('allow');
  });
});

it('exists only where there is a table of system calls', () => {
  expect((['ia32', 'arm', 'riscv64', 'ppc64', 's390x', 'mips'] as const).map(seccompFilter)).toEqual(
    Array(6).fill(undefined),
  );
});

it('names each call in one rule, so that no rule hides another', () => {
  const names = RULES.flatMap(({ refuse }) => refuse);
  expect([...names].sort()).toEqual(Object.keys(SYSCALLS).sort());
});

it('is assembled in less than a millisecond', () => {
  const times = Array.from({ length: 99 }, () => {
    const start = performance.now();
    seccompFilter('x64');
    return performance.now() - start;
  });
  expect(times.sort((a, b) => a - b)[49]).toBeLessThan(1);
});
