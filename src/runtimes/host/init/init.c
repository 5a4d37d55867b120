/*
 * The first process of a sandbox:  init REPORT SETTINGS FRAMES RELAY PORT INPUT OUTPUT PROGRAM ARGUMENT...
 *
 * It starts the program in a child, as the user that programs run as, without any capability and under the
 * seccomp filter; both are in SETTINGS. It reaps whatever ends, hands every signal that it gets on to the
 * program, SIGINT to everybody as a terminal does, and copies the program's output. When the program has ended, it
 * writes the status that wait4 gave (four bytes) to REPORT and ends as the program did. A child that cannot be made
 * into the program writes the negated number of the error there first.
 *
 * Where RELAY is not empty, that program is started before, with PORT and with the two named pipes of the host as
 * its standard input and output. It has another user than the program, which so cannot end it, and otherwise the
 * same rights. Once it closes its standard error it is ready; when it has said something there, the sandbox ends.
 * When the program has ended, the relay gets a moment for what the program sent last.
 *
 * A program that were the first process itself would inherit every orphan and could start no session of its
 * own, and nobody could tell its end from the end of the sandbox around it. The output is copied because
 * gVisor writes no more to a pipe of the host than fits into it at once, and says so by a short count, which
 * no program expects of a pipe that blocks: what did not fit would be lost. Its own pipes do better.
 *
 * It is the sandbox's root, with no more capabilities than it uses, so that the program can neither end it nor
 * write the report.
 *
 * Where SETTINGS is empty it is the program's user already and held as the program shall be, and where REPORT is
 * empty there is none. As the first process of its namespace it cannot be ended by the program even then, and as one
 * that is not dumpable it shows the program none of its descriptors and none of its memory.
 *
 * Where FRAMES is not empty, what it copies is in frames, each with its length before it (four bytes). A length of
 * nothing is the end of the stream; the status follows, how many processes the memory limit has ended, where that can be
 * seen here (four bytes each), and a word that no program knows. Whoever reads the output knows of the program's end at
 * once. Where SETTINGS is empty, that word is read from standard input first: gVisor lets a program of the same user write
 * to what this process writes to, but not read its memory. Elsewhere no program can do either, and the word is of zeros.
 */
#include <linux/fcntl.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/signal.h>
#include <linux/signalfd.h>
#include <linux/time.h>
#include <linux/wait.h>

#include "../../freestanding.h"

#define FIONREAD 0x541b
#define EINTR 4
#define ALL_SIGNALS (~0ul)
#define NO_RELAY "the relay could not be started\n"

/* How much is copied at once: as much as a pipe holds. */
#define CHUNK 65536

/* Where a container finds what its limits did, with cgroups of version 2 and of version 1. */
#define MEMORY_EVENTS "/sys/fs/cgroup/memory.events"
#define MEMORY_EVENTS_BEFORE "/sys/fs/cgroup/memory/memory.oom_control"
#define KILLED_FOR_MEMORY "oom_kill "

/* The descriptor by which it was started, where that is no file with a name. */
#define OWN_PROGRAM 3

struct user {
  unsigned int uid, gid;
};

struct settings {
  struct user program, relay;
  struct sock_filter filter[4096];
};

static struct settings settings;
static unsigned short filter_length;
static struct {
  unsigned int length;
  char chunk[CHUNK];
} frame;
static char word[16];
static int report = -1;
static int is_relay;
static int has_rights;
static int in_frames;

/* Ends the child that cannot become the program: what it was told to do must be done. */
static long must(long result) {
  int error = (int)result;
  if (result >= 0) return result;
  if (is_relay) call(__NR_write, report, NO_RELAY, sizeof NO_RELAY - 1);
  else call(__NR_write, report, &error, sizeof error);
  leave(125);
  return result;
}

/* Everything that is missing before there is a child is a sandbox that ends without a report. */
static long have(long result) {
  if (result < 0) leave(125);
  return result;
}

static void mask_signals(unsigned long which) {
  must(call(__NR_rt_sigprocmask, SIG_SETMASK, &which, 0, sizeof which));
}

/* Gives up every right that programs do not have; from here on it is an ordinary process. */
static void give_up_rights(const struct user *user) {
  struct sock_fprog program = {filter_length, settings.filter};
  must(call(__NR_setresuid, -1, 0, -1));
  /* CAP_KILL, CAP_SETGID, CAP_SETUID and CAP_SETPCAP: all that there is. */
  for (int capability = 5; capability <= 8; capability++)
    must(call(__NR_prctl, PR_CAPBSET_DROP, capability));
  must(call(__NR_setgroups, 0, 0));
  must(call(__NR_setresgid, user->gid, user->gid, user->gid));
  must(call(__NR_setresuid, user->uid, user->uid, user->uid));
  must(call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1));
  must(call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static void become(char **argv, char **environment, const int *output, const int *errors, int gate) {
  int nothing;
  /* At its end when the gate is closed. */
  call(__NR_read, gate, &nothing, sizeof nothing);
  must(call(__NR_dup3, output[1], 1, 0));
  must(call(__NR_dup3, errors[1], 2, 0));
  if (has_rights) give_up_rights(&settings.program);
  else must(call(__NR_setpgid, 0, 0));
  mask_signals(0);
  must(call(__NR_execve, argv[0], argv, environment));
}

static void become_relay(const char *path, const char *port, const char *input, const char *output, int said) {
  const char *argv[] = {path, port, 0};
  char *environment[] = {0};
  /* Its folder is closed to its user. */
  long program = must(call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  must(call(__NR_dup3, must(call(__NR_openat, AT_FDCWD, input, O_RDONLY | O_NONBLOCK | O_CLOEXEC)), 0, 0));
  must(call(__NR_dup3, must(call(__NR_openat, AT_FDCWD, output, O_WRONLY | O_NONBLOCK | O_CLOEXEC)), 1, 0));
  must(call(__NR_dup3, said, 2, 0));
  give_up_rights(&settings.relay);
  mask_signals(0);
  must(call(__NR_execveat, program, "", argv, environment, AT_EMPTY_PATH));
}

/* Writes all of it; false when nobody takes it. */
static int write_all(int to, const char *bytes, long length) {
  for (long done = 0; done < length;) {
    long written = call(__NR_write, to, bytes + done, length - done);
    if (written < 0 && written != -EINTR) return 0;
    if (written > 0) done += written;
  }
  return 1;
}

/* Copies what is there, at most so many bytes. False when no more will come, or nobody takes it. */
static int copy(int from, int to, long most) {
  long length = call(__NR_read, from, frame.chunk, most < CHUNK ? most : CHUNK);
  if (length == -EINTR) return 1;
  if (length <= 0) return 0;
  if (!in_frames) return write_all(to, frame.chunk, length);
  frame.length = (unsigned int)length;
  return write_all(to, (const char *)&frame, (long)sizeof frame.length + length);
}

/* Descriptors of the kernel's files, which a program cannot put another file in the place of. */
static int open_memory_events(void) {
  long events = call(__NR_openat, AT_FDCWD, MEMORY_EVENTS, O_RDONLY | O_CLOEXEC);
  return (int)(events < 0 ? call(__NR_openat, AT_FDCWD, MEMORY_EVENTS_BEFORE, O_RDONLY | O_CLOEXEC) : events);
}

static int starts_with(const char *text, const char *word) {
  while (*word)
    if (*text++ != *word++) return 0;
  return 1;
}

/* How many processes the memory limit has ended; -1 where nobody says so. */
static int killed_for_memory(int events) {
  long length = call(__NR_pread64, events, frame.chunk, CHUNK - 1, 0);
  frame.chunk[length < 0 ? 0 : length] = 0;
  for (const char *at = frame.chunk; *at; at++) {
    if (!starts_with(at, KILLED_FOR_MEMORY)) continue;
    int count = 0;
    for (at += sizeof KILLED_FOR_MEMORY - 1; *at >= '0' && *at <= '9'; at++) count = 10 * count + (*at - '0');
    return count;
  }
  return -1;
}

/* Says that the program has ended, behind all that it wrote. */
static void end_frames(int status, int events) {
  struct {
    int length, status, killed;
    char word[sizeof word];
  } end = {0, status, killed_for_memory(events), {0}};
  for (unsigned int place = 0; place < sizeof word; place++) end.word[place] = word[place];
  for (int stream = 1; in_frames && stream <= 2; stream++) write_all(stream, (const char *)&end, sizeof end);
}

/* Starts the relay and waits until it is ready; nobody can signal it or wait for it but us, who need not. */
static long start_relay(char **words) {
  int said[2];
  have(call(__NR_pipe2, said, O_CLOEXEC));
  long relay = have(call(__NR_clone, SIGCHLD, 0, 0, 0, 0));
  if (relay == 0) {
    /* Whatever is wrong here is no failure of the program. */
    is_relay = 1;
    report = said[1];
    become_relay(words[0], words[1], words[2], words[3], said[1]);
  }
  call(__NR_close, said[1]);
  if (copy(said[0], 2, CHUNK)) leave(125);
  call(__NR_close, said[0]);
  return relay;
}

/* Elsewhere than in a namespace of processes, everybody would be everybody on the host. */
static int is_first(void) { return call(__NR_getpid, 0) == 1; }

/* Ends all that the program left, whose user this process becomes for it: the relay has another one. */
static void end_the_rest(void) {
  call(__NR_setresuid, settings.program.uid, settings.program.uid, -1);
  call(__NR_kill, -1, SIGKILL);
  call(__NR_setresuid, 0, 0, -1);
}

/* Lets the relay carry what was sent last. After that long it has been heard, or will not be. */
static void finish_relay(long relay, int signals) {
  struct pollfd watched = {signals, POLLIN, 0};
  /* The kernel writes here what is left of it. */
  struct timespec patience = {1, 0};
  struct signalfd_siginfo signal;
  end_the_rest();
  call(__NR_kill, relay, SIGTERM);
  /* What else ends meanwhile wakes us too, and cannot do so for ever. */
  for (int round = 0; round < 1000 && call(__NR_wait4, relay, 0, WNOHANG, 0) == 0; round++) {
    if (call(__NR_ppoll, &watched, 1, &patience, 0, 0) <= 0) return;
    call(__NR_read, signals, &signal, sizeof signal);
  }
}

/* Copies what was written before the end; whoever still holds the pipe is not waited for. */
static void drain(int from, int to) {
  int left = 0;
  if (from < 0 || call(__NR_ioctl, from, FIONREAD, &left) < 0) return;
  while (left > 0) {
    if (!copy(from, to, left)) return;
    left -= left < CHUNK ? left : CHUNK;
  }
}

/* Reaps what has ended; true when the program has. */
static int reap(long program, int *status) {
  int ended;
  for (long pid; (pid = call(__NR_wait4, -1, &ended, WNOHANG, 0)) > 0;) {
    if (pid != program) continue;
    *status = ended;
    return 1;
  }
  return 0;
}

/* An interrupt is for all that the program started too; the relay blocks it. */
static void hand_on(unsigned int signal, long program) {
  call(__NR_kill, signal == SIGINT && is_first() ? -1 : program, signal);
}

static int wait_for(long program, int signals, int output, int errors) {
  struct pollfd watched[] = {{signals, POLLIN, 0}, {output, POLLIN, 0}, {errors, POLLIN, 0}};
  for (int status;;) {
    struct signalfd_siginfo signal;
    call(__NR_ppoll, watched, 3, 0, 0, 0);
    for (int stream = 1; stream <= 2; stream++) {
      if (!watched[stream].revents || copy(watched[stream].fd, stream, CHUNK)) continue;
      /* Closed, so that a program whose output nobody takes any more is told. */
      call(__NR_close, watched[stream].fd);
      watched[stream].fd = -1;
    }
    if (!watched[0].revents || call(__NR_read, signals, &signal, sizeof signal) != sizeof signal) continue;
    if (signal.ssi_signo == SIGPIPE) continue; /* of our own writing */
    if (signal.ssi_signo != SIGCHLD) {
      hand_on(signal.ssi_signo, program);
    } else if (reap(program, &status)) {
      drain(watched[1].fd, 1);
      drain(watched[2].fd, 2);
      return status;
    }
  }
}

/* The program has its own copy; /proc/1/environ shows this one. */
static void forget(char **environment) {
  for (; *environment; environment++)
    for (char *letter = *environment; *letter; letter++) *letter = 0;
}

static void read_settings(const char *path) {
  int file = (int)have(call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  long length = have(call(__NR_read, file, &settings, sizeof settings));
  long filter = length - (long)(2 * sizeof(struct user));
  if (filter <= 0) leave(125);
  filter_length = (unsigned short)(filter / (long)sizeof settings.filter[0]);
  call(__NR_close, file);
}

static void read_word(void) {
  for (unsigned long done = 0; done < sizeof word;) {
    long length = have(call(__NR_read, 0, word + done, sizeof word - done));
    if (length == 0) leave(125);
    done += (unsigned long)length;
  }
}

static void begin(long *stack) {
  char **argv = (char **)(stack + 1);
  char **environment = argv + stack[0] + 1;
  unsigned long all = ALL_SIGNALS;
  int output[2], errors[2], gate[2];

  have(call(__NR_prctl, PR_SET_DUMPABLE, 0));
  if (*argv[1]) report = (int)have(call(__NR_openat, AT_FDCWD, argv[1], O_WRONLY | O_CLOEXEC));
  has_rights = *argv[2];
  if (has_rights) read_settings(argv[2]);
  else call(__NR_close, OWN_PROGRAM);
  in_frames = *argv[3];
  if (in_frames && !has_rights) read_word();
  int events = in_frames ? open_memory_events() : -1;
  mask_signals(ALL_SIGNALS);
  int signals = (int)have(call(__NR_signalfd4, -1, &all, sizeof all, SFD_CLOEXEC));
  long relay = *argv[4] ? start_relay(argv + 4) : 0;
  have(call(__NR_pipe2, gate, O_CLOEXEC));

  /*
   * As the program's user, who may then open /dev/stdout and /dev/stderr again, and whose processes are counted
   * from the first. Nothing of that user runs before the gate is closed: until then it could end this process.
   */
  if (has_rights) have(call(__NR_setresuid, settings.program.uid, settings.program.uid, -1));
  have(call(__NR_pipe2, output, O_CLOEXEC));
  have(call(__NR_pipe2, errors, O_CLOEXEC));
  long program = have(call(__NR_clone, SIGCHLD, 0, 0, 0, 0));
  if (program == 0) {
    call(__NR_close, gate[1]);
    become(argv + 8, environment, output, errors, gate[0]);
  }
  if (has_rights) have(call(__NR_setresuid, 0, 0, -1));
  forget(environment);
  call(__NR_close, gate[0]);
  call(__NR_close, gate[1]);
  call(__NR_close, output[1]);
  call(__NR_close, errors[1]);

  int status = wait_for(program, signals, output[0], errors[0]);
  end_frames(status, events);
  call(__NR_write, report, &status, sizeof status);
  if (relay && is_first()) finish_relay(relay, signals);
  leave(status & 0x7f ? 128 + (status & 0x7f) : (status >> 8) & 0xff);
}
