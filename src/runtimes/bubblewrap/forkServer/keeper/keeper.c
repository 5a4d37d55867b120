/*
 * The keeper of a program that the fork server makes ready: PID 1 of its namespaces, which forks it, waits for it, and reports how
 * the kernel says that it ended, on a descriptor that the program does not have.
 *
 * It is forked from a Python, and in C so that nothing of that Python runs in it: each page that an interpreter touches after a
 * fork is copied, some 260 of them for what is done here. One function, which calls no library but the C library's
 * fork, and which runs at whatever address it is put.
 */
#include <asm/errno.h>
#include <asm/signal.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "../../../systemCall.h"

/* Where a program's descriptors are, in the order in which its ends are given; see forkServer.py. */
enum { INPUT, OUTPUT, ERRORS, REPORT, ORDERS, ENDS };

#define FAILED 70

/* Says what failed where the host reads why a sandbox could not be built, with the number of the error. */
static void require(long result, const char *what) {
  char text[64];
  long length = 0;
  if (result >= 0) return;
  while (*what) text[length++] = *what++;
  for (const char *words = ": error "; *words;) text[length++] = *words++;
  for (long unit = 1000; unit > 0; unit /= 10)
    if (unit == 1 || -result >= unit) text[length++] = '0' + -result / unit % 10;
  text[length++] = '\n';
  call(__NR_write, ERRORS, text, length);
  call(__NR_exit_group, FAILED);
}

static void close_from(long first) {
  struct rlimit64 most = {1024, 1024};
  if (call(__NR_close_range, first, ~0u, 0) == 0) return;
  /* Before Linux 5.9. */
  call(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, &most);
  while ((unsigned long)first < most.rlim_cur) call(__NR_close, first++);
}

/* The child's ends where they belong, and nothing else open. */
static void place(const int *ends) {
  long moved[ENDS];
  /* Above everything that they could overwrite. */
  for (int end = 0; end < ENDS; end++)
    require(moved[end] = call(__NR_fcntl, ends[end], F_DUPFD_CLOEXEC, 2 * ENDS), "fcntl");
  for (int end = 0; end < ENDS; end++)
    require(call(__NR_dup3, moved[end], end, end <= ERRORS ? 0 : O_CLOEXEC), "dup3");
  close_from(ENDS);
}

/* Until the host has put this process where it belongs. It may also have no more use for it. */
static void wait_to_begin(void) {
  char letter = 0;
  while (letter != '\n')
    if (call(__NR_read, ORDERS, &letter, 1) != 1) call(__NR_exit_group, 0);
}

static void set_default(int signal) {
  /* `struct sigaction` as the kernel takes it: the default, without flags. */
  unsigned long action[4] = {0};
  call(__NR_rt_sigaction, signal, action, 0, 8);
}

/* No capability can be had again, by it and by what it forks. */
static void drop_bounding(void) {
  for (long capability = 0; call(__NR_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;) capability++;
}

static void keep(long program, const struct sock_fprog *filter) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}};
  require(call(__NR_dup3, REPORT, INPUT, O_CLOEXEC), "dup3");
  /* Python's, which is not to run here. */
  set_default(SIGINT);
  close_from(INPUT + 1);
  require(call(__NR_capset, &header, none), "capset");
  require(call(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "prctl");
  require(call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
  require(call(__NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter), "seccomp");
  for (;;) {
    int status;
    long ended = call(__NR_wait4, -1, &status, 0, 0);
    if (ended == program) {
      call(__NR_write, INPUT, &status, sizeof status);
      call(__NR_exit_group, 0);
    }
    require(ended, "wait4");
  }
}

/*
 * Makes a program's namespaces (`flags` of clone(2)). Returns twice: the keeper's number to whoever calls, negative when there is
 * none, and zero in the program, which has the rights of the keeper until then. `ends` are to be the program's descriptors.
 */
__attribute__((section(".text.first"), used)) long begin_keeper(long flags, const int *ends, long is_mapped_by_root,
                                                                const struct sock_fprog *filter, int (*fork)(void)) {
  long pid = call(__NR_clone, flags | SIGCHLD, 0, 0, 0, 0);
  if (pid != 0) return pid;
  place(ends);
  wait_to_begin();
  require(call(__NR_unshare, CLONE_NEWCGROUP), "unshare");
  if (is_mapped_by_root) {
    require(call(__NR_setresgid, 0, 0, 0), "setresgid");
    require(call(__NR_setresuid, 0, 0, 0), "setresuid");
  }
  require(call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl");
  /* The keeper leads the session, as bubblewrap's PID 1 does: the program may still begin one of its own. */
  require(call(__NR_setsid, 0), "setsid");
  /* The server ignores it, and nobody hears of the end of a child then. */
  set_default(SIGCHLD);
  drop_bounding();
  pid = fork();
  if (pid == 0) return 0;
  /* Its error is in a variable of the library's. */
  require(pid < 0 ? -EAGAIN : pid, "fork");
  keep(pid, filter);
  return 0;
}
