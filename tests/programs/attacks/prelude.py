"""Stands before each program of this folder that asks for it: what an attempt gives, and system calls by number."""
import ctypes, errno, json, os, platform, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def name_of(number):
    return errno.errorcode.get(number, str(number))
def attempt(action):
    try:
        action()
        return 'ok'
    except OSError as error:
        return name_of(error.errno)
    except Exception as error:
        return type(error).__name__
def syscall(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    return 'ok' if result >= 0 else name_of(ctypes.get_errno())
def call(function, *arguments):
    ctypes.set_errno(0)
    result = function(*arguments)
    return 'ok' if result >= 0 else name_of(ctypes.get_errno())
def in_child(action):
    "The answer of an action that a refusal may kill."
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, str(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    said = b''
    while chunk := os.read(reading, 65536):
        said += chunk
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    return f'signal {os.WTERMSIG(status)}' if os.WIFSIGNALED(status) else said.decode()
# The host may know the arguments and variables of this process only as they were before it became the program.
if 'MARKER' in os.environ:
    attempt(lambda: open('/proc/self/comm', 'w').write(os.environ['MARKER']))
