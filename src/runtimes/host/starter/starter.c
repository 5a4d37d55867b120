/*
 * Starts programs for the process that started it, however large that is:  starter PID
 *
 * PID is that process. It sends requests to our standard input and gets answers on our standard output; we end when it
 * does, and take with us what has no other user by then. We are small, so that a fork costs little, and hand on nothing
 * but what a request names: a program gets a session of its own, the signals as they are by default, and the
 * descriptors that it shall have from 0 on. Those are descriptors of PID, which we open again by way of /proc:
 * pipes, namespaces and folders can be.
 *
 * A request is its length without this header, its kind and a number (4 bytes each, as all numbers are), and then:
 *
 *   START       three counts, of arguments, variables and descriptors; for each descriptor its number in PID, or -1 for
 *               /dev/null, and the flags to open it with; the working folder, arguments, variables, each ended by a NUL
 *   SIGNAL      a child of ours, and the signal for it
 *   MAKE_PIPES  how many; we hold them until FORGET, so that PID can open them by way of /proc
 *   FORGET      nothing
 *   ENLARGE     a pipe of PID's, and how many bytes it shall hold
 *   CHECK       a pipe of PID's to write to, and four bytes that we write there
 *   PREPARE     as START, with steps in place of the arguments: a process that does them and waits (launcher.h)
 *
 * An answer is its kind, the request's number, and two more numbers:
 *
 *   STARTED     the process; said by itself, before it is the program and so before anything that the program says
 *   FAILED      the error, for any request; after STARTED when the program could not be executed
 *   EXITED      the process, and what it ended with as wait4 says it; said while it is still ours
 *   PIPE        both ends, once for each pipe
 *   CHECKED     nothing
 */
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/signal.h>
#include <linux/signalfd.h>
#include <linux/wait.h>

#include "../../freestanding.h"
#include "launcher.h"

enum { START = 1, SIGNAL, MAKE_PIPES, FORGET, ENLARGE, CHECK, PREPARE };
enum { STARTED = 1, FAILED, EXITED, PIPE, CHECKED };

#define ENOSYS 38
#define ALL_SIGNALS (~0ul)

/* What the other side keeps to. */
#define LONGEST 262144
#define WORDS 2048
#define DESCRIPTORS 32
#define PIPES 64

/* Our own descriptors are from here on: below are those of programs. */
#define ABOVE 64
#define CONTROL (ABOVE + 0)
#define ANSWERS (ABOVE + 1)

struct header {
  unsigned int length, kind, id;
};

struct start {
  unsigned int arguments, variables, descriptors;
};

struct source {
  int number;
  unsigned int flags;
};

static struct {
  struct header header;
  char body[LONGEST];
} in;
static unsigned int in_length;
static char *words[WORDS + 2];
static int opened[DESCRIPTORS];
static int pipes[2 * PIPES];
static unsigned int pipe_ends;
static const char *asker;
static long self;
static long signals;

static void answer(int kind, unsigned int id, int first, int second) {
  int frame[4] = {kind, (int)id, first, second};
  long done = 0;
  while (done < (long)sizeof frame) {
    long written = call(__NR_write, ANSWERS, (char *)frame + done, sizeof frame - done);
    if (written < 0 && written != -EINTR) leave(0);
    if (written > 0) done += written;
  }
}

/* Out of the way of what programs get. */
static long move_above(long fd) {
  if (fd < 0) return fd;
  long moved = call(__NR_fcntl, fd, F_DUPFD_CLOEXEC, ABOVE);
  call(__NR_close, fd);
  return moved;
}

/* Opens what a descriptor of PID leads to. Never waits: a named pipe without another end would. */
static long open_source(struct source source) {
  static char path[64];
  if (source.number < 0) return move_above(call(__NR_openat, AT_FDCWD, "/dev/null", source.flags | O_CLOEXEC));
  char *end = append(append(append(path, "/proc/"), asker), "/fd/");
  append_number(end, (unsigned int)source.number);
  long fd = move_above(call(__NR_openat, AT_FDCWD, path, source.flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd >= 0) call(__NR_fcntl, fd, F_SETFL, source.flags & ~O_ACCMODE);
  return fd;
}

static void close_all(const int *fds, unsigned int count) {
  for (unsigned int index = 0; index < count; index++) call(__NR_close, fds[index]);
}

/* What PID holds back of the modes of new files now, not when we were started. Before Linux 4.7 nobody says. */
static void take_umask(void) {
  static char path[64], text[1024];
  append(append(append(path, "/proc/"), asker), "/status");
  long fd = call(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  long length = call(__NR_read, fd, text, sizeof text - 1);
  call(__NR_close, fd);
  for (char *line = text; length > 0 && *line; line++) {
    if (!begins(line, "\nUmask:\t")) continue;
    unsigned int mask = 0;
    for (char *digit = line + 8; *digit >= '0' && *digit <= '7'; digit++) mask = 8 * mask + (unsigned int)(*digit - '0');
    call(__NR_umask, mask);
    return;
  }
}

/* What a process that goes on as a copy of us has of ours: an end of a pipe would keep it from ending. */
static void close_ours(unsigned int descriptors) {
  close_all(opened, descriptors);
  close_all(pipes, pipe_ends);
  call(__NR_close, CONTROL);
  call(__NR_close, ANSWERS);
  call(__NR_close, signals);
}

/* In the child, which ends with us: nobody else knows of it. The error when it could not become the program. */
static long become(struct header header, const char *folder, char **arguments, char **variables, unsigned int descriptors) {
  unsigned long none = 0;
  unsigned int id = header.id;
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (call(__NR_getppid, 0) != self) leave(0);
  call(__NR_setsid, 0);
  for (unsigned int index = 0; index < descriptors; index++) {
    long result = call(__NR_dup3, opened[index], index, 0);
    if (result < 0) return result;
  }
  long result = call(__NR_chdir, folder);
  if (result < 0) return result;
  take_umask();
  answer(STARTED, id, (int)call(__NR_getpid, 0), 0);
  call(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
  if (header.kind == PREPARE) {
    close_ours(descriptors);
    launch(arguments, self);
  }
  return call(__NR_execve, arguments[0], arguments, variables);
}

static void start(struct header header, char *body) {
  unsigned int id = header.id, length = header.length;
  struct start *counts = (struct start *)body;
  struct source *sources = (struct source *)(counts + 1);
  unsigned int position = sizeof *counts, word = 0;
  if (length < position || counts->descriptors > DESCRIPTORS) leave(2);
  if (counts->arguments > WORDS || counts->variables > WORDS - counts->arguments) leave(2);
  if (header.kind == START && !counts->arguments) leave(2);
  position += counts->descriptors * sizeof *sources;
  if (position >= length || body[length - 1]) leave(2);
  char *folder = body + position;
  for (position += length_of(folder) + 1; position < length; position += length_of(body + position) + 1) {
    if (word == counts->arguments) words[word++] = 0;
    if (word > counts->arguments + counts->variables) leave(2);
    words[word++] = body + position;
  }
  if (word == counts->arguments) words[word++] = 0;
  if (word != counts->arguments + counts->variables + 1) leave(2);
  words[word] = 0;

  for (unsigned int index = 0; index < counts->descriptors; index++) {
    long fd = open_source(sources[index]);
    if (fd < 0) {
      close_all(opened, index);
      answer(FAILED, id, (int)-fd, 0);
      return;
    }
    opened[index] = (int)fd;
  }
  long child = call(__NR_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    long result = become(header, folder, words, words + counts->arguments + 1, counts->descriptors);
    answer(FAILED, id, (int)-result, 0);
    leave(127);
  }
  close_all(opened, counts->descriptors);
  if (child < 0) answer(FAILED, id, (int)-child, 0);
}

/* Only to what is still ours: its number may be somebody else's otherwise. */
static void signal_child(const int *child_and_signal) {
  siginfo_t info;
  if (call(__NR_waitid, P_PID, child_and_signal[0], &info, WEXITED | WNOHANG | WNOWAIT, 0) == 0)
    call(__NR_kill, child_and_signal[0], child_and_signal[1]);
}

static void forget_pipes(void) {
  close_all(pipes, pipe_ends);
  pipe_ends = 0;
}

static void make_pipes(unsigned int id, unsigned int count) {
  forget_pipes();
  if (count > PIPES) leave(2);
  for (unsigned int index = 0; index < count; index++) {
    int *ends = pipes + pipe_ends;
    long result = call(__NR_pipe2, ends, O_CLOEXEC);
    if (result < 0) {
      answer(FAILED, id, (int)-result, 0);
      return;
    }
    for (int end = 0; end < 2; end++) ends[end] = (int)move_above(ends[end]);
    pipe_ends += 2;
    answer(PIPE, id, ends[0], ends[1]);
  }
}

static void enlarge(const int *pipe_and_bytes) {
  long fd = open_source((struct source){pipe_and_bytes[0], O_RDONLY});
  /* What an ordinary user may not have any more of (pipe-user-pages-soft in pipe(7)) stays as it is. */
  if (fd >= 0) call(__NR_fcntl, fd, F_SETPIPE_SZ, pipe_and_bytes[1]);
  if (fd >= 0) call(__NR_close, fd);
}

static void check(unsigned int id, const int *pipe_and_bytes) {
  long fd = open_source((struct source){pipe_and_bytes[0], O_WRONLY});
  long written = fd < 0 ? fd : call(__NR_write, fd, pipe_and_bytes + 1, sizeof *pipe_and_bytes);
  if (fd >= 0) call(__NR_close, fd);
  if (written < 0) answer(FAILED, id, (int)-written, 0);
  else answer(CHECKED, id, 0, 0);
}

static void do_request(void) {
  struct header *header = &in.header;
  const int *numbers = (const int *)in.body;
  static const unsigned char lengths[] = {[SIGNAL] = 8, [MAKE_PIPES] = 4, [FORGET] = 0, [ENLARGE] = 8, [CHECK] = 8};
  if (header->kind < START || header->kind > PREPARE) leave(2);
  int starts = header->kind == START || header->kind == PREPARE;
  if (!starts && header->length != lengths[header->kind]) leave(2);
  if (starts) start(*header, in.body);
  if (header->kind == SIGNAL) signal_child(numbers);
  if (header->kind == MAKE_PIPES) make_pipes(header->id, (unsigned int)numbers[0]);
  if (header->kind == FORGET) forget_pipes();
  if (header->kind == ENLARGE) enlarge(numbers);
  if (header->kind == CHECK) check(header->id, numbers);
}

/* Reads no more than what belongs to one request, which is done once it is there. */
static void read_requests(void) {
  unsigned int wanted = sizeof in.header;
  if (in_length >= wanted) wanted += in.header.length;
  if (wanted > sizeof in) leave(2);
  long length = call(__NR_read, CONTROL, (char *)&in + in_length, wanted - in_length);
  if (length == -EINTR) return;
  if (length <= 0) leave(0);
  in_length += (unsigned int)length;
  if (in_length < sizeof in.header || in_length < sizeof in.header + in.header.length) return;
  in_length = 0;
  do_request();
}

/* Told before its number is free, so that nobody is taken for it. */
static void tell_of_ends(void) {
  for (;;) {
    static siginfo_t info;
    info.si_pid = 0;
    if (call(__NR_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, 0) < 0 || info.si_pid == 0) return;
    int code = info.si_status & 0xff;
    answer(EXITED, 0, info.si_pid, info.si_code == CLD_EXITED ? code << 8 : code & 0x7f);
    call(__NR_waitid, P_PID, info.si_pid, &info, WEXITED, 0);
  }
}

/* Whatever else we were given. */
static void close_the_rest(void) {
  for (int fd = 0; fd < 2; fd++) call(__NR_dup3, fd, ABOVE + fd, O_CLOEXEC);
  if (call(__NR_close_range, 3, ABOVE - 1, 0) == -ENOSYS)
    for (int fd = 3; fd < ABOVE; fd++) call(__NR_close, fd);
  if (call(__NR_close_range, ABOVE + 2, ~0u, 0) == -ENOSYS)
    for (int fd = ABOVE + 2; fd < 65536; fd++) call(__NR_close, fd);
  /* Taken, so that nothing of ours gets there. */
  for (int fd = 0; fd < 3; fd++) {
    call(__NR_close, fd);
    call(__NR_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
  }
}

static void begin(long *stack) {
  unsigned long all = ALL_SIGNALS, ends = 1ul << (SIGCHLD - 1);
  char **arguments = (char **)(stack + 1);
  if (stack[0] != 2 || length_of(arguments[1]) > 10) leave(2);
  asker = arguments[1];
  self = call(__NR_getpid, 0);
  close_the_rest();
  call(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all);
  signals = call(__NR_signalfd4, -1, &ends, sizeof ends, SFD_CLOEXEC | SFD_NONBLOCK);
  signals = move_above(signals);
  if (signals < 0) leave(2);
  struct pollfd watched[2] = {{CONTROL, POLLIN, 0}, {(int)signals, POLLIN, 0}};
  for (;;) {
    struct signalfd_siginfo which;
    long ready = call(__NR_ppoll, watched, 2, 0, 0, 0);
    if (ready < 0 && ready != -EINTR) leave(2);
    if (watched[1].revents) {
      while (call(__NR_read, signals, &which, sizeof which) > 0)
        ;
      tell_of_ends();
    }
    if (watched[0].revents) read_requests();
  }
}
