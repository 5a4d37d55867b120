/*
 * Makes a process that shares the memory of the one that calls it, and does nothing: as long as it is there, the kernel does
 * not take that memory apart when the other ends. Most of the time that an interpreter's end takes is for that.
 *
 * It is no child of its caller, who would find it with wait4, but of its caller's parent (CLONE_PARENT), or in gVisor, which does
 * not heed that, of the sandbox's first process, as a child of one that has ended. It is held as its caller is, by which it
 * can be changed and ended; what is in its memory is the caller's anyway. It has no descriptor open, and heeds no signal but
 * those that nobody can refuse.
 *
 * A caller that becomes another program by execve(2) leaves its memory to the holder, which then ends by itself: the kernel sets
 * the caller's thread id to zero in both cases (set_tid_address(2)), and wakes who waits there. Where the kernel does not say
 * where that is (PR_GET_TID_ADDRESS; gVisor), it stays.
 *
 * It comes in two forms: `hold` by itself, which runs at whatever address it is put, and a shared object, for whoever can load
 * one and nothing else, which runs it when it is loaded. That may then be unloaded: the code runs from a page of its own.
 */
#include <linux/mman.h>

#include "../../../runtimes/systemCall.h"

#define PAGE 4096

/*
 * long hold(void): negative, the number of an error, when there is no holder. In assembly, since all of them go on with one
 * stack, which only the caller may touch. Before Linux 5.9, and in older gVisor, descriptors are closed one by one: the
 * first 256. The moment before it ends is for a caller that ends, so that this one is still there when the caller gives
 * the memory up.
 */
#if defined(__x86_64__)
__asm__(
    ".pushsection .text.hold, \"ax\"\n"
    ".globl hold, hold_end\n"
    ".hidden hold, hold_end\n"
    "hold:\n"
    "  sub $24, %rsp\n"
    "  movq $-1, 8(%rsp)\n"
    "  mov $14, %eax\n" /* rt_sigprocmask(SIG_BLOCK, all, old, 8) */
    "  xor %edi, %edi\n"
    "  lea 8(%rsp), %rsi\n"
    "  mov %rsp, %rdx\n"
    "  mov $8, %r10d\n"
    "  syscall\n"
    "  movq $0, 8(%rsp)\n"
    "  mov $157, %eax\n" /* prctl(PR_GET_TID_ADDRESS, place) */
    "  mov $40, %edi\n"
    "  lea 8(%rsp), %rsi\n"
    "  xor %edx, %edx\n"
    "  xor %r10d, %r10d\n"
    "  xor %r8d, %r8d\n"
    "  syscall\n"
    "  mov 8(%rsp), %r8\n"
    "  mov $56, %eax\n" /* clone(CLONE_VM | CLONE_PARENT | SIGCHLD) */
    "  mov $0x8111, %edi\n"
    "  xor %esi, %esi\n"
    "  syscall\n"
    "  mov %rax, %r9\n"
    "  test %rax, %rax\n"
    "  js 9f\n"
    "  jz 2f\n"
    "  mov $61, %eax\n" /* wait4(holder, 0, WNOHANG | __WALL, 0): there is no such child */
    "  mov %r9, %rdi\n"
    "  mov $0x40000001, %edx\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  js 9f\n"
    "  mov $62, %eax\n" /* kill(holder, SIGKILL) */
    "  mov %r9, %rdi\n"
    "  mov $9, %esi\n"
    "  syscall\n"
    "  mov $61, %eax\n" /* wait4(holder, 0, __WALL, 0) */
    "  mov %r9, %rdi\n"
    "  xor %esi, %esi\n"
    "  mov $0x40000000, %edx\n"
    "  syscall\n"
    "  mov $56, %eax\n" /* clone(CLONE_VM) */
    "  mov $0x100, %edi\n"
    "  xor %edx, %edx\n"
    "  syscall\n"
    "  mov %rax, %r9\n"
    "  test %rax, %rax\n"
    "  js 9f\n"
    "  jnz 8f\n"
    "  mov $56, %eax\n" /* clone(CLONE_VM | SIGCHLD) */
    "  mov $0x111, %edi\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jz 2f\n"
    "1: mov $231, %eax\n" /* exit_group(0) */
    "  xor %edi, %edi\n"
    "  syscall\n"
    "2: mov $436, %eax\n" /* close_range(0, ~0, 0) */
    "  xor %edi, %edi\n"
    "  mov $-1, %esi\n"
    "  xor %edx, %edx\n"
    "  syscall\n"
    "  test %rax, %rax\n"
    "  jz 4f\n"
    "  xor %ebx, %ebx\n"
    "3: mov $3, %eax\n" /* close */
    "  mov %ebx, %edi\n"
    "  syscall\n"
    "  inc %ebx\n"
    "  cmp $256, %ebx\n"
    "  jb 3b\n"
    "4: test %r8, %r8\n"
    "  jz 6f\n"
    "  mov (%r8), %edx\n"
    "  test %edx, %edx\n"
    "  jz 5f\n"
    "  mov $202, %eax\n" /* futex(place, FUTEX_WAIT, what is there, 0) */
    "  mov %r8, %rdi\n"
    "  xor %esi, %esi\n"
    "  xor %r10d, %r10d\n"
    "  syscall\n"
    "  jmp 4b\n"
    "5: mov $202, %eax\n" /* futex(place, FUTEX_WAKE, all): another may wait there */
    "  mov %r8, %rdi\n"
    "  mov $1, %esi\n"
    "  mov $0x7fffffff, %edx\n"
    "  syscall\n"
    "  mov $35, %eax\n" /* nanosleep(a moment, 0) */
    "  lea 7f(%rip), %rdi\n"
    "  xor %esi, %esi\n"
    "  syscall\n"
    "  jmp 1b\n"
    "6: mov $271, %eax\n" /* ppoll(0, 0, 0, 0, 0) */
    "  xor %edi, %edi\n"
    "  xor %esi, %esi\n"
    "  xor %edx, %edx\n"
    "  xor %r10d, %r10d\n"
    "  xor %r8d, %r8d\n"
    "  syscall\n"
    "  jmp 6b\n"
    "7: .quad 0, 2000000\n"
    "8: mov $61, %eax\n" /* wait4(the one between, 0, __WALL, 0) */
    "  mov %r9, %rdi\n"
    "  xor %esi, %esi\n"
    "  mov $0x40000000, %edx\n"
    "  xor %r10d, %r10d\n"
    "  syscall\n"
    "9: mov $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, old, 0, 8) */
    "  mov $2, %edi\n"
    "  mov %rsp, %rsi\n"
    "  xor %edx, %edx\n"
    "  mov $8, %r10d\n"
    "  syscall\n"
    "  mov %r9, %rax\n"
    "  add $24, %rsp\n"
    "  ret\n"
    "hold_end:\n"
    ".popsection\n");
#elif defined(__aarch64__)
__asm__(
    ".pushsection .text.hold, \"ax\"\n"
    ".globl hold, hold_end\n"
    ".hidden hold, hold_end\n"
    "hold:\n"
    "  sub sp, sp, #32\n"
    "  mov x9, #-1\n"
    "  str x9, [sp, #8]\n"
    "  mov x8, #135\n" /* rt_sigprocmask(SIG_BLOCK, all, old, 8) */
    "  mov x0, #0\n"
    "  add x1, sp, #8\n"
    "  mov x2, sp\n"
    "  mov x3, #8\n"
    "  svc #0\n"
    "  str xzr, [sp, #8]\n"
    "  mov x8, #167\n" /* prctl(PR_GET_TID_ADDRESS, place) */
    "  mov x0, #40\n"
    "  add x1, sp, #8\n"
    "  mov x2, #0\n"
    "  mov x3, #0\n"
    "  mov x4, #0\n"
    "  svc #0\n"
    "  ldr x11, [sp, #8]\n"
    "  mov x8, #220\n" /* clone(CLONE_VM | CLONE_PARENT | SIGCHLD) */
    "  mov x0, #0x8111\n"
    "  mov x1, #0\n"
    "  svc #0\n"
    "  mov x10, x0\n"
    "  tbnz x0, #63, 9f\n"
    "  cbz x0, 2f\n"
    "  mov x8, #260\n" /* wait4(holder, 0, WNOHANG | __WALL, 0): there is no such child */
    "  mov x2, #0x40000000\n"
    "  add x2, x2, #1\n"
    "  svc #0\n"
    "  tbnz x0, #63, 9f\n"
    "  mov x8, #129\n" /* kill(holder, SIGKILL) */
    "  mov x0, x10\n"
    "  mov x1, #9\n"
    "  svc #0\n"
    "  mov x8, #260\n" /* wait4(holder, 0, __WALL, 0) */
    "  mov x0, x10\n"
    "  mov x1, #0\n"
    "  mov x2, #0x40000000\n"
    "  svc #0\n"
    "  mov x8, #220\n" /* clone(CLONE_VM) */
    "  mov x0, #0x100\n"
    "  mov x2, #0\n"
    "  svc #0\n"
    "  mov x10, x0\n"
    "  tbnz x0, #63, 9f\n"
    "  cbnz x0, 8f\n"
    "  mov x0, #0x111\n" /* clone(CLONE_VM | SIGCHLD) */
    "  svc #0\n"
    "  cbz x0, 2f\n"
    "1: mov x8, #94\n" /* exit_group(0) */
    "  mov x0, #0\n"
    "  svc #0\n"
    "2: mov x8, #436\n" /* close_range(0, ~0, 0) */
    "  mov x0, #0\n"
    "  mov w1, #-1\n"
    "  mov x2, #0\n"
    "  svc #0\n"
    "  cbz x0, 4f\n"
    "  mov x9, #0\n"
    "3: mov x8, #57\n" /* close */
    "  mov x0, x9\n"
    "  svc #0\n"
    "  add x9, x9, #1\n"
    "  cmp x9, #256\n"
    "  b.lo 3b\n"
    "4: cbz x11, 6f\n"
    "  ldr w2, [x11]\n"
    "  cbz w2, 5f\n"
    "  mov x8, #98\n" /* futex(place, FUTEX_WAIT, what is there, 0) */
    "  mov x0, x11\n"
    "  mov x1, #0\n"
    "  mov x3, #0\n"
    "  svc #0\n"
    "  b 4b\n"
    "5: mov x8, #98\n" /* futex(place, FUTEX_WAKE, all): another may wait there */
    "  mov x0, x11\n"
    "  mov x1, #1\n"
    "  mov w2, #0x7fffffff\n"
    "  svc #0\n"
    "  mov x8, #101\n" /* nanosleep(a moment, 0) */
    "  adr x0, 7f\n"
    "  mov x1, #0\n"
    "  svc #0\n"
    "  b 1b\n"
    "6: mov x8, #73\n" /* ppoll(0, 0, 0, 0, 0) */
    "  mov x0, #0\n"
    "  mov x1, #0\n"
    "  mov x2, #0\n"
    "  mov x3, #0\n"
    "  mov x4, #0\n"
    "  svc #0\n"
    "  b 6b\n"
    "  .balign 8\n"
    "7: .quad 0, 2000000\n"
    "8: mov x8, #260\n" /* wait4(the one between, 0, __WALL, 0) */
    "  mov x1, #0\n"
    "  mov x2, #0x40000000\n"
    "  mov x3, #0\n"
    "  svc #0\n"
    "9: mov x8, #135\n" /* rt_sigprocmask(SIG_SETMASK, old, 0, 8) */
    "  mov x0, #2\n"
    "  mov x1, sp\n"
    "  mov x2, #0\n"
    "  mov x3, #8\n"
    "  svc #0\n"
    "  mov x0, x10\n"
    "  add sp, sp, #32\n"
    "  ret\n"
    "hold_end:\n"
    ".popsection\n");
#endif

extern const char hold[] __attribute__((visibility("hidden")));
extern const char hold_end[] __attribute__((visibility("hidden")));

__attribute__((constructor)) static void begin_holding(void) {
  char *page = (char *)call_six(__NR_mmap, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((unsigned long)page > -(unsigned long)PAGE) return;
  for (long place = 0; hold + place < hold_end; place++) page[place] = hold[place];
  __builtin___clear_cache(page, page + PAGE);
  if (call(__NR_mprotect, page, PAGE, PROT_READ | PROT_EXEC) == 0) ((long (*)(void))page)();
}
