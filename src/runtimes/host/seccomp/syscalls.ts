/**
 * What each architecture calls its system calls, from Linux 7.0: `arch/x86/entry/syscalls/syscall_64.tbl`
 * and `scripts/syscall.tbl`, which arm64 shares with the other newer architectures.
 */
export interface Abi {
  /** What the kernel puts into `seccomp_data.arch` for a native call (`linux/audit.h`). */
  readonly auditArchitecture: number;
  /**
   * First and last of each run of numbers whose meaning has been judged, in ascending order. x64 gained 335
   * and 336 long after 424 was in use, so what lies between the runs is no safer than what lies above.
   */
  readonly knownNumbers: readonly (readonly [first: number, last: number])[];
}

export const ABIS = {
  x64: {
    auditArchitecture: 0xc000003e,
    knownNumbers: [
      [0, 336], // read .. uprobe
      [424, 471], // pidfd_send_signal .. rseq_slice_yield
    ],
  },
  arm64: {
    auditArchitecture: 0xc00000b7,
    knownNumbers: [
      [0, 294], // io_setup .. kexec_file_load
      [424, 471],
    ],
  },
} as const satisfies Partial<Record<NodeJS.Architecture, Abi>>;

/** The numbers of the calls that the filter names; undefined where the architecture has no such call. */
export const SYSCALLS = {
  _sysctl: { x64: 156, arm64: undefined },
  acct: { x64: 163, arm64: 89 },
  add_key: { x64: 248, arm64: 217 },
  adjtimex: { x64: 159, arm64: 171 },
  bpf: { x64: 321, arm64: 280 },
  chroot: { x64: 161, arm64: 51 },
  clock_adjtime: { x64: 305, arm64: 266 },
  clock_settime: { x64: 227, arm64: 112 },
  clone: { x64: 56, arm64: 220 },
  clone3: { x64: 435, arm64: 435 },
  delete_module: { x64: 176, arm64: 106 },
  fanotify_init: { x64: 300, arm64: 262 },
  fanotify_mark: { x64: 301, arm64: 263 },
  finit_module: { x64: 313, arm64: 273 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fsopen: { x64: 430, arm64: 430 },
  fspick: { x64: 433, arm64: 433 },
  init_module: { x64: 175, arm64: 105 },
  inotify_init: { x64: 253, arm64: undefined },
  inotify_init1: { x64: 294, arm64: 26 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  io_uring_setup: { x64: 425, arm64: 425 },
  ioctl: { x64: 16, arm64: 29 },
  ioperm: { x64: 173, arm64: undefined },
  iopl: { x64: 172, arm64: undefined },
  kcmp: { x64: 312, arm64: 272 },
  kexec_file_load: { x64: 320, arm64: 294 },
  kexec_load: { x64: 246, arm64: 104 },
  keyctl: { x64: 250, arm64: 219 },
  listmount: { x64: 458, arm64: 458 },
  listns: { x64: 470, arm64: 470 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  lsm_get_self_attr: { x64: 459, arm64: 459 },
  lsm_list_modules: { x64: 461, arm64: 461 },
  lsm_set_self_attr: { x64: 460, arm64: 460 },
  mbind: { x64: 237, arm64: 235 },
  memfd_secret: { x64: 447, arm64: 447 },
  migrate_pages: { x64: 256, arm64: 238 },
  modify_ldt: { x64: 154, arm64: undefined },
  mount: { x64: 165, arm64: 40 },
  mount_setattr: { x64: 442, arm64: 442 },
  move_mount: { x64: 429, arm64: 429 },
  move_pages: { x64: 279, arm64: 239 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  nfsservctl: { x64: 180, arm64: 42 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  open_tree: { x64: 428, arm64: 428 },
  open_tree_attr: { x64: 467, arm64: 467 },
  perf_event_open: { x64: 298, arm64: 241 },
  personality: { x64: 135, arm64: 92 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  pivot_root: { x64: 155, arm64: 41 },
  process_madvise: { x64: 440, arm64: 440 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  ptrace: { x64: 101, arm64: 117 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  reboot: { x64: 169, arm64: 142 },
  request_key: { x64: 249, arm64: 218 },
  set_mempolicy: { x64: 238, arm64: 237 },
  set_mempolicy_home_node: { x64: 450, arm64: 450 },
  setdomainname: { x64: 171, arm64: 162 },
  sethostname: { x64: 170, arm64: 161 },
  setns: { x64: 308, arm64: 268 },
  settimeofday: { x64: 164, arm64: 170 },
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  statmount: { x64: 457, arm64: 457 },
  swapoff: { x64: 168, arm64: 225 },
  swapon: { x64: 167, arm64: 224 },
  sysfs: { x64: 139, arm64: undefined },
  syslog: { x64: 103, arm64: 116 },
  umount2: { x64: 166, arm64: 39 },
  unshare: { x64: 272, arm64: 97 },
  uselib: { x64: 134, arm64: undefined },
  userfaultfd: { x64: 323, arm64: 282 },
  ustat: { x64: 136, arm64: undefined },
  vhangup: { x64: 153, arm64: 58 },
} as const satisfies Record<string, Record<keyof typeof ABIS, number | undefined>>;

export type SyscallName = keyof typeof SYSCALLS;
