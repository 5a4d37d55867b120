#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void) {
  static char text[65536];
  char *arguments[256];
  int count = 0, fd = open("/proc/self/cmdline", O_RDONLY);
  long length = read(fd, text, sizeof text - 1);
  close(fd);
  for (char *at = text; at < text + length; at += strlen(at) + 1) arguments[count++] = at;
  arguments[count] = 0;
  unsetenv("LD_PRELOAD");
  if (count < 4 || strncmp(arguments[1], "--nproc", 7) != 0) return;
  for (int index = 1; index < count; index++)
    if (strcmp(arguments[index], "--") == 0) execv(arguments[index + 1], &arguments[index + 1]);
}
