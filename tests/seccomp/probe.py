"""Makes each call given as JSON in a process of its own, and prints what the kernel answered, as JSON.

A call is [number, [arguments]], or the machine code of a function, in hexadecimal digits.
An answer is "ok", the name of an error, or the name of the signal that killed the process.
"""
import ctypes
import errno
import json
import mmap
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def answer_of(call):
    if isinstance(call, str):
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex(call))
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        return "ok" if result >= 0 else errno.errorcode[-result]
    number, arguments = call
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def in_a_process_of_its_own(call):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        me = os.getpid()
        answer = answer_of(call)
        if os.getpid() == me:  # and not what clone has just made
            os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 100).decode()
    os.close(reader)
    status = os.waitpid(child, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else answer


json.dump([in_a_process_of_its_own(call) for call in json.loads(sys.argv[1])], sys.stdout)
