def child_of(number, *arguments):
    return in_child(lambda: syscall(number, *arguments))
NEWUSER, NEWNS, NEWNET, NEWPID, NEWTIME = 0x10000000, 0x20000, 0x40000000, 0x20000000, 0x80
class CloneArguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('flags', 'pidfd', 'child_tid', 'parent_tid', 'exit_signal', 'stack', 'size', 'tls')]
def raw(family, kind, protocol=0):
    return attempt(lambda: socket.socket(family, kind, protocol).close())
