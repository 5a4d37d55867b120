#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
#include <fcntl.h>
__attribute__((constructor)) static void early(void) {
  unsetenv("LD_PRELOAD");
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  for (int fd = 0; fd < 256; fd++) close(fd);
  char *const arguments[] = { MARKER, "-c", "trap '' TERM; while :; do sleep 600; done", MARKER, 0 };
  char *const environment[] = { 0 };
  execve("/bin/sh", arguments, environment);
  _exit(1);
}
