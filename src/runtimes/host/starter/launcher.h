/*
 * What a process of ours does that waits to become a program. Descriptor 3 is where it reports, and 4 where its orders
 * come: four numbers of 4 bytes each, which are the length of what follows and the counts of steps, arguments and
 * variables, and then all of these, each ended by a NUL. It ends when that descriptor does.
 *
 * Steps are words one after the other:
 *
 *   namespaces KIND   mounts of its own; KIND "user": in a user namespace of its own, where it is root
 *   memory DATA PATH  a file system in memory there
 *   bind FROM PATH    shows a folder in another place, which is made
 *   pipe              a pipe that nobody writes to yet in place of descriptor 0
 *   owner UID GID     hands descriptor 0 over
 *   cgroup PATH       enters it by this file
 *   limit WHICH N     a resource limit; a lower one that cannot be raised holds already
 *   open FD PATH      a file for reading
 *   status            says that the program starts now, which the end of the report confirms
 *   user UID GID      becomes this user, in no other group
 */
#include <linux/mman.h>
#include <linux/mount.h>
#include <linux/resource.h>
#include <linux/sched.h>

#define STATUS 3
#define ORDERS 4
#define PROGRAM_FAILED 125

#define ENOENT 2
#define EINTR 4
#define ENOEXEC 8

static unsigned int length_of(const char *text) {
  unsigned int length = 0;
  while (text[length]) length++;
  return length;
}

static int begins(const char *text, const char *with) {
  while (*with && *text == *with) text++, with++;
  return *with == 0;
}

static int same(const char *one, const char *other) { return begins(one, other) && one[length_of(other)] == 0; }

static char *append(char *to, const char *text) {
  while (*text) *to++ = *text++;
  *to = 0;
  return to;
}

static char *append_number(char *to, unsigned long number) {
  char digits[24];
  unsigned int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  return to;
}

static unsigned long number_of(const char *text) {
  unsigned long number = 0;
  while (*text >= '0' && *text <= '9') number = 10 * number + (unsigned long)(*text++ - '0');
  return number;
}

static void say(int fd, const char *text) { call(__NR_write, fd, text, length_of(text)); }

/* As everybody says it, for what mostly comes. */
static void say_error(int fd, long error) {
  static const struct {
    int number;
    const char *text;
  } ERRORS[] = {{1, "Operation not permitted"}, {2, "No such file or directory"}, {7, "Argument list too long"},
                {12, "Cannot allocate memory"}, {13, "Permission denied"},        {22, "Invalid argument"},
                {24, "Too many open files"},    {28, "No space left on device"},  {30, "Read-only file system"}};
  char number[24];
  for (unsigned int index = 0; index < sizeof ERRORS / sizeof *ERRORS; index++)
    if (-error == ERRORS[index].number) return say(fd, ERRORS[index].text);
  append_number(append(number, "error "), (unsigned long)-error);
  say(fd, number);
}

/* ERROR is what a system call has answered, or 0. */
static void fail(const char *why, long error) {
  say(STATUS, "{\"failed\":\"");
  say(STATUS, why);
  if (error < 0) {
    say(STATUS, ": ");
    say_error(STATUS, error);
  }
  say(STATUS, "\"}\n");
  leave(PROGRAM_FAILED);
}

static long must(long result, const char *complaint) {
  if (result < 0) fail(complaint, result);
  return result;
}

static void write_file(const char *path, const char *text, const char *complaint) {
  long fd = must(call(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC), complaint);
  must(call(__NR_write, fd, text, length_of(text)), complaint);
  call(__NR_close, fd);
}

static void make_namespaces(const char *kind) {
  const char *complaint = "could not make namespaces";
  int of_user = same(kind, "user");
  char uid_map[40], gid_map[40];
  append(append_number(append(uid_map, "0 "), (unsigned long)call(__NR_geteuid, 0)), " 1\n");
  append(append_number(append(gid_map, "0 "), (unsigned long)call(__NR_getegid, 0)), " 1\n");
  must(call(__NR_unshare, CLONE_NEWNS | (of_user ? CLONE_NEWUSER : 0)), complaint);
  if (of_user) {
    write_file("/proc/self/setgroups", "deny", complaint);
    write_file("/proc/self/uid_map", uid_map, complaint);
    write_file("/proc/self/gid_map", gid_map, complaint);
  }
  must(call(__NR_mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0), complaint);
}

/* With the folders above it, whatever is held back from the modes of new files. */
static void make_folder(char *path) {
  long mask = call(__NR_umask, 022);
  for (char *end = path + 1; *end; end++) {
    if (*end != '/') continue;
    *end = 0;
    call(__NR_mkdirat, AT_FDCWD, path, 0777);
    *end = '/';
  }
  call(__NR_mkdirat, AT_FDCWD, path, 0777);
  call(__NR_umask, mask);
}

static void set_limit(const char *which, unsigned long value) {
  static const struct {
    const char *name;
    int resource;
  } LIMITS[] = {{"core", RLIMIT_CORE}, {"data", RLIMIT_DATA}, {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE}, {"cpu", RLIMIT_CPU}};
  for (unsigned int index = 0; index < sizeof LIMITS / sizeof *LIMITS; index++) {
    struct rlimit64 held, wanted = {value, value};
    if (!same(which, LIMITS[index].name)) continue;
    long result = call(__NR_prlimit64, 0, LIMITS[index].resource, &wanted, 0);
    if (result == 0) return;
    if (call(__NR_prlimit64, 0, LIMITS[index].resource, 0, &held) == 0 && held.rlim_max <= value) return;
    fail("could not set a limit", result);
  }
  fail("unknown limit", 0);
}

static void open_file(int as, const char *path) {
  const char *complaint = "could not open a control file";
  long fd = must(call(__NR_openat, AT_FDCWD, path, O_RDONLY), complaint);
  if (fd == as) return;
  must(call(__NR_dup3, fd, as, 0), complaint);
  call(__NR_close, fd);
}

static void put_pipe(void) {
  const char *complaint = "could not make a pipe";
  int ends[2];
  must(call(__NR_pipe2, ends, O_CLOEXEC), complaint);
  must(call(__NR_dup3, ends[0], 0, 0), complaint);
  call(__NR_close, ends[0]);
  call(__NR_close, ends[1]);
}

static void become_user(unsigned long uid, unsigned long gid, long parent) {
  const char *complaint = "could not become another user";
  must(call(__NR_setgroups, 0, 0), complaint);
  must(call(__NR_setgid, gid), complaint);
  must(call(__NR_setuid, uid), complaint);
  /* Another user's process has forgotten it (prctl(2)). */
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (call(__NR_getppid, 0) != parent) leave(0);
}

/* How many words of them make up this step. */
static int do_step(char **words, long parent) {
  const char *step = words[0];
  if (same(step, "namespaces")) return make_namespaces(words[1]), 2;
  if (same(step, "memory")) {
    must(call(__NR_mount, "glovebox", words[2], "tmpfs", MS_NOSUID | MS_NODEV, words[1]), "could not mount a file system");
    return 3;
  }
  if (same(step, "bind")) {
    make_folder(words[2]);
    must(call(__NR_mount, words[1], words[2], 0, MS_BIND, 0), "could not show a folder");
    return 3;
  }
  if (same(step, "pipe")) return put_pipe(), 1;
  if (same(step, "owner")) {
    must(call(__NR_fchown, 0, number_of(words[1]), number_of(words[2])), "could not hand standard input over");
    return 3;
  }
  if (same(step, "cgroup")) return write_file(words[1], "0", "could not enter a cgroup"), 2;
  if (same(step, "limit")) return set_limit(words[1], number_of(words[2])), 3;
  if (same(step, "open")) return open_file((int)number_of(words[1]), words[2]), 3;
  if (same(step, "status")) {
    say(STATUS, "{\"started\":true}\n");
    call(__NR_fcntl, STATUS, F_SETFD, FD_CLOEXEC);
    return 1;
  }
  if (same(step, "user")) return become_user(number_of(words[1]), number_of(words[2]), parent), 3;
  fail("unknown step", 0);
  return 1;
}

/* False at the end, which comes when nobody is there any more to give them. */
static int read_orders(void *to, unsigned int length) {
  for (unsigned int done = 0; done < length;) {
    long count = call(__NR_read, ORDERS, (char *)to + done, length - done);
    if (count <= 0 && count != -EINTR) return 0;
    if (count > 0) done += (unsigned int)count;
  }
  return 1;
}

static char *room_for(unsigned long bytes) {
  long room = call(__NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (room < 0 && room > -4096) fail("there is no room for the orders", room);
  return (char *)room;
}

/* As env(1) and a shell say it. */
static void complain(const char *program, long error) {
  say(2, "glovebox: ");
  say(2, program);
  say(2, ": ");
  say_error(2, error);
  say(2, "\n");
  leave(error == -ENOENT ? 127 : 126);
}

/* A name without a folder was looked for before, and is not there; what is no program is a shell's, as for execvp(3). */
static void execute(char **arguments, char **variables) {
  long error = -ENOENT;
  int is_path = 0;
  for (const char *letter = arguments[0]; *letter; letter++) is_path |= *letter == '/';
  if (is_path) error = call(__NR_execve, arguments[0], arguments, variables);
  if (error == -ENOEXEC) {
    unsigned int count = 0;
    while (arguments[count]) count++;
    char **script = (char **)room_for((count + 2) * sizeof *script);
    script[0] = "/bin/sh";
    for (unsigned int index = 0; index < count; index++) script[index + 1] = arguments[index];
    error = call(__NR_execve, script[0], script, variables);
  }
  complain(arguments[0], error);
}

/* Does the steps up to the one that is NULL, waits for its orders, and does those. */
static void launch(char **steps, long parent) {
  struct {
    unsigned int length, steps, arguments, variables;
  } orders;
  while (*steps) steps += do_step(steps, parent);
  say(STATUS, "{\"ready\":true}\n");
  if (!read_orders(&orders, sizeof orders)) leave(0);
  unsigned long count = (unsigned long)orders.steps + orders.arguments + orders.variables;
  char *text = room_for(orders.length);
  /* Three lists, each ended by NULL. */
  char **words = (char **)room_for((count + 3) * sizeof *words), **word = words;
  if (!read_orders(text, orders.length)) leave(0);
  if (orders.arguments == 0 || text[orders.length - 1]) fail("unknown orders", 0);
  const unsigned int counts[3] = {orders.steps, orders.arguments, orders.variables};
  unsigned int position = 0;
  for (int list = 0; list < 3; list++) {
    for (unsigned int index = 0; index < counts[list]; index++) {
      if (position >= orders.length) fail("unknown orders", 0);
      *word++ = text + position;
      position += length_of(text + position) + 1;
    }
    *word++ = 0;
  }
  call(__NR_close, ORDERS);
  for (char **step = words; *step;) step += do_step(step, parent);
  execute(words + orders.steps + 1, words + orders.steps + 1 + orders.arguments + 1);
}
