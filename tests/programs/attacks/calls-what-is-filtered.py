import mmap
def int80():
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid of i386); int 0x80; ret
    memory.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return 'ok' if function() > 0 else 'refused'
vector = (ctypes.c_char * 256)()
def terminal(request):
    import pty
    primary, secondary = os.openpty()
    return call(libc.ioctl, secondary, ctypes.c_ulong(request), b'x')
print(json.dumps({
  'bpf': syscall(321, 5, vector, 120), 'perf_event_open': syscall(298, vector, 0, -1, -1, 0),
  'keyctl': syscall(250, 0, -3, 1), 'add_key': syscall(248, b'user', b'attack', b'x', 1, -4), 'request_key': syscall(249, b'user', b'attack', None, 0),
  'io_uring_setup': syscall(425, 4, vector), 'io_uring_enter': syscall(426, 0, 0, 0, 0, None, 0), 'io_uring_register': syscall(427, 0, 0, None, 0),
  'userfaultfd': syscall(323, 1), 'ptrace own': syscall(101, 0, 0, 0, 0), 'ptrace 1': syscall(101, 16, 1, 0, 0), 'process_vm_readv': syscall(310, 1, None, 0, None, 0, 0),
  'process_vm_writev': syscall(311, 1, None, 0, None, 0, 0), 'pidfd_getfd': syscall(438, syscall(434, 1, 0) and 0, 0, 0), 'kcmp': syscall(312, 1, 1, 0, 0, 0),
  'kexec_load': syscall(246, 0, 0, None, 0), 'kexec_file_load': syscall(320, 0, 0, 0, None, 0), 'init_module': syscall(175, None, 0, None), 'finit_module': syscall(313, 0, b'', 0),
  'delete_module': syscall(176, b'x', 0), 'open_by_handle_at': syscall(304, -100, vector, 0), 'name_to_handle_at': syscall(303, -100, b'/', vector, vector, 0),
  'setns': syscall(308, 0, 0), 'vsock': raw(40, socket.SOCK_STREAM), 'alg': raw(38, socket.SOCK_SEQPACKET), 'packet': raw(17, socket.SOCK_RAW),
  'netlink other': raw(16, socket.SOCK_RAW, 9), 'bluetooth': raw(31, socket.SOCK_RAW), 'can': raw(29, socket.SOCK_RAW, 1), 'xdp': raw(44, socket.SOCK_RAW),
  'TIOCSTI': terminal(0x5412), 'TIOCSTI high half': terminal(0x100005412), 'TIOCLINUX': terminal(0x541C), 'TIOCSETD': terminal(0x5423),
  'x32 getpid': in_child(lambda: syscall(0x40000000 + 39)), 'x32 own numbers': in_child(lambda: syscall(0x40000000 + 512)), 'x32 without bit': in_child(lambda: syscall(520)),
  'int 0x80': in_child(int80), 'syslog': syscall(103, 10, None, 0), 'mbind': syscall(237, 0, 0, 0, 0, 0, 0), 'personality': syscall(135, 0x40000),
  'memfd_secret': syscall(447, 0), 'future': syscall(1000), 'uselib': syscall(134, b'/'), 'fanotify': syscall(300, 0, 0), 'socketpair': attempt(lambda: socket.socketpair(40)),
}))
