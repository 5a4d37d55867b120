/*
 * What our programs that use no library start with: a system call, an end, and a beginning, which is
 * `begin(stack)`. They must run in any root, whatever is in it. They are built by scripts/build-programs.sh.
 */
#include "systemCall.h"

static void leave(int code) {
  for (;;) call(__NR_exit_group, code);
}

__attribute__((used)) static void begin(long *stack);

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n bl begin\n");
#endif
