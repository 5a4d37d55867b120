/*
 * What our programs that use no library start with: a system call, an end, and a beginning, which is
 * `begin(stack)`. They must run in any root, whatever is in it. They are built by scripts/build-programs.sh.
 */
#include <asm/unistd.h>

#define call(number, ...) call_with(number, __VA_ARGS__, 0, 0, 0, 0, 0)
#define call_with(number, a, b, c, d, e, ...) \
  raw_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

static long raw_call(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long result __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  register long sixth __asm__("x5") = 0;
  register long which __asm__("x8") = number;
  __asm__ volatile("svc #0"
                   : "+r"(result)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return result;
#endif
}

static void leave(int code) {
  for (;;) call(__NR_exit_group, code);
}

__attribute__((used)) static void begin(long *stack);

#if defined(__x86_64__)
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x0, sp\n bl begin\n");
#endif
