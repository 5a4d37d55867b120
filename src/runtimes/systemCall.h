/* A system call, without any library. */
#include <asm/unistd.h>

#define call(number, ...) call_five(number, __VA_ARGS__, 0, 0, 0, 0, 0)
#define call_five(number, a, b, c, d, e, ...) call_six(number, a, b, c, d, e, 0)
#define call_six(number, a, b, c, d, e, f) \
  raw_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static long raw_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
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
  register long sixth __asm__("x5") = f;
  register long which __asm__("x8") = number;
  __asm__ volatile("svc #0"
                   : "+r"(result)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return result;
#endif
}
