/** System calls that serve one purpose. */
export interface Calls {
  readonly purpose: string;
  readonly names: readonly string[];
  /** Those that arm64 never had: libraries there use a later call with the same purpose. */
  readonly onlyX64?: readonly string[];
}

const words = (text: string): string[] => text.trim().split(/\s+/);

/** What ordinary programs ask of the kernel, whatever the arguments. */
export const ALLOWED: readonly Calls[] = [
  {
    purpose: 'open files, read and write them',
    names: words(`
      close close_range copy_file_range dup dup3 fadvise64 fallocate fcntl fdatasync flock fsync ftruncate
      lseek openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readv sendfile
      sync sync_file_range syncfs truncate write writev
    `),
    onlyX64: words('creat dup2 open'),
  },
  {
    purpose: 'look at files and folders',
    names: words(`
      faccessat faccessat2 fstat fstatfs getdents64 newfstatat readlinkat statfs statx
    `),
    onlyX64: words('access getdents lstat readlink stat'),
  },
  {
    purpose: 'arrange files and folders',
    // Device files need a capability that no sandbox has; mknod makes pipes and sockets too.
    names: words(`
      chdir fchdir fchmod fchmodat fchmodat2 fchown fchownat getcwd linkat mkdirat mknodat renameat renameat2
      symlinkat umask unlinkat utimensat
    `),
    onlyX64: words(`
      chmod chown futimesat lchown link mkdir mknod rename rmdir symlink unlink utime utimes
    `),
  },
  {
    purpose: 'extended attributes, which cp -a and tar carry along',
    names: words(`
      fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr listxattrat
      llistxattr lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat
    `),
  },
  {
    purpose: 'pipes',
    names: words('pipe2 splice tee vmsplice'),
    onlyX64: words('pipe'),
  },
  {
    purpose: 'wait for descriptors and events',
    names: words('epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 eventfd2 ppoll pselect6 signalfd4'),
    onlyX64: words('epoll_create epoll_wait eventfd poll select signalfd'),
  },
  {
    purpose: 'memory of the program itself',
    names: words(`
      brk get_mempolicy madvise map_shadow_stack memfd_create mincore mlock mlock2 mlockall mmap mprotect
      mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect
    `),
  },
  {
    purpose: 'start programs, and end',
    names: words('execve execveat exit exit_group wait4 waitid'),
    onlyX64: words('fork vfork'),
  },
  {
    purpose: 'threads and their locks',
    names: words(`
      futex futex_requeue futex_wait futex_waitv futex_wake gettid membarrier rseq set_robust_list
      set_tid_address
    `),
    onlyX64: words('arch_prctl'),
  },
  {
    purpose: 'signals',
    names: words(`
      kill pidfd_open pidfd_send_signal restart_syscall rt_sigaction rt_sigpending rt_sigprocmask
      rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack tgkill tkill
    `),
    onlyX64: words('pause'),
  },
  {
    purpose: 'read clocks, sleep, set timers',
    names: words(`
      clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer timer_create
      timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
    `),
    onlyX64: words('alarm time'),
  },
  {
    purpose: 'sockets, once socket or socketpair has given one',
    names: words(`
      accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg
      sendmsg sendto setsockopt shutdown
    `),
  },
  {
    purpose: 'memory, queues and semaphores shared between processes, in a namespace of the container',
    names: words(`
      mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd
      semctl semget semop semtimedop shmat shmctl shmdt shmget
    `),
  },
  {
    purpose: 'identity and sessions; without capabilities a program can only become what it is',
    names: words(`
      capget capset getegid geteuid getgid getgroups getpgid getpid getppid getresgid getresuid getsid getuid
      setfsgid setfsuid setgid setgroups setpgid setregid setresgid setresuid setreuid setsid setuid
    `),
    onlyX64: words('getpgrp'),
  },
  {
    purpose: 'scheduling, limits and use of resources',
    names: words(`
      getcpu getpriority getrlimit getrusage ioprio_get ioprio_set prlimit64 rseq_slice_yield
      sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
      sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
      sched_setscheduler sched_yield setpriority setrlimit sysinfo times uname
    `),
  },
  {
    purpose: 'settings of the program itself, random numbers',
    names: words('getrandom prctl'),
  },
  {
    purpose: 'give up more rights; a program can only tighten these',
    names: words('landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp'),
  },
  {
    purpose: 'where the kernel sends a program that is being measured from the host; nobody calls them',
    names: [],
    onlyX64: words('uprobe uretprobe'),
  },
];

/**
 * Calls that do not exist here. Programs know this answer from older kernels, and do without; those that the
 * floor answers so are not repeated.
 */
export const UNAVAILABLE: readonly Calls[] = [
  {
    purpose: 'watches, of which the floor refuses the first step',
    names: words('inotify_add_watch inotify_rm_watch'),
  },
  {
    purpose: 'asynchronous files of the kernel: seldom used, often broken; libc has its own, on threads',
    names: words('io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit'),
  },
  {
    purpose: 'what files shared with other containers have in memory',
    names: words('cachestat'),
  },
  {
    purpose: 'tools that look after other processes',
    names: words('get_robust_list process_mrelease'),
  },
  {
    purpose: 'flags of file systems, and mappings out of order, which nobody needs',
    names: words('file_getattr file_setattr remap_file_pages'),
  },
  {
    purpose: 'names without a call behind them: no kernel has one, or only for 32-bit programs',
    names: [],
    onlyX64: words(`
      afs_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms get_thread_area getpmsg putpmsg
      query_module security set_thread_area tuxcall vserver
    `),
  },
];
