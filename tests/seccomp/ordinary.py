"""What ordinary Python programs do. Prints the name of each part that worked."""
import asyncio
import ctypes
import mmap
import multiprocessing
import os
import random
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def square(number):
    return number * number


def threads():
    results = []
    workers = [threading.Thread(target=lambda n=n: results.append(square(n))) for n in range(20)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    with ThreadPoolExecutor(8) as pool:
        return sorted(results) == list(pool.map(square, range(20)))


def processes(method):
    context = multiprocessing.get_context(method)
    with context.Pool(3) as pool, context.Manager() as manager:
        manager.list([1])
        shared, queue, lock = context.Value("i", 7), context.Queue(), context.Lock()
        with lock:
            queue.put(shared.value)
        return pool.map(square, range(5)) == [0, 1, 4, 9, 16] and queue.get() == 7


def process_executor():
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(square, [2, 3])) == [4, 9]


def shared_memory():
    from multiprocessing import shared_memory

    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 5
    other = shared_memory.SharedMemory(name=block.name)
    same = other.buf[0] == 5
    other.close()
    block.close()
    block.unlink()
    return same


def subprocesses():
    piped = subprocess.run("echo one; echo two | tr t T; (exit 3)", shell=True, capture_output=True, text=True)
    spawned = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], dict(os.environ))
    session = subprocess.run(["/bin/sh", "-c", "exit 0"], start_new_session=True, close_fds=True)
    return (piped.stdout, piped.returncode) == ("one\nTwo\n", 3) and (
        os.waitstatus_to_exitcode(os.waitpid(spawned, 0)[1]) == 4 and session.returncode == 0
    )


async def echo():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    for host in ["127.0.0.1", "localhost"]:
        server = await asyncio.start_server(serve, host, 0)
        reader, writer = await asyncio.open_connection(host, server.sockets[0].getsockname()[1])
        writer.write(b"hello\n")
        if await reader.readline() != b"hello\n":
            return False
        writer.close()
        server.close()
    child = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
    return (await child.communicate())[0] == b"hi\n"


def sockets():
    left, right = socket.socketpair()
    left.send(b"x")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket(socket.AF_UNIX) as unix:
        udp.bind(("127.0.0.1", 0))
        udp.sendto(b"y", udp.getsockname())
        unix.bind("\0abstract")
        unix.listen()
        return right.recv(1) == b"x" and udp.recv(1) == b"y" and bool(socket.getaddrinfo("localhost", 80))


def memory():
    ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)()
    descriptor = os.memfd_create("name")
    os.ftruncate(descriptor, 4096)
    mapped = mmap.mmap(descriptor, 4096)
    mapped.madvise(mmap.MADV_DONTNEED)
    return len(os.getrandom(8)) == 8 and mapped[0] == 0


def signals():
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append("alarm"))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    pidfd = os.pidfd_open(os.getpid())
    signal.pidfd_send_signal(pidfd, signal.SIGALRM)
    time.sleep(0.001)
    return seen == ["alarm", "alarm"]


def scheduling():
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.nice(1)
    return os.cpu_count() > 0 and os.getloadavg()[0] >= 0


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "wb+") as file:
            os.posix_fallocate(file.fileno(), 0, 100)
            os.copy_file_range(file.fileno(), file.fileno(), 10, 0, 50)
            os.fsync(file.fileno())
        os.chmod(path, 0o600)
        os.symlink(path, path + ".link")
        os.replace(path, path + ".moved")
        return sorted(os.listdir(folder)) == ["file.link", "file.moved"]


def terminal():
    import pty

    status = pty.spawn(["/bin/sh", "-c", "test -t 0 && stty -a > /dev/null"], lambda fd: os.read(fd, 1024))
    return os.waitstatus_to_exitcode(status) == 0


if __name__ == "__main__":
    parts = {
        "threads": threads,
        "fork": lambda: processes("fork"),
        "spawn": lambda: processes("spawn"),
        "forkserver": lambda: processes("forkserver"),
        "process executor": process_executor,
        "shared memory": shared_memory,
        "subprocess": subprocesses,
        "asyncio": lambda: asyncio.run(echo()),
        "sockets": sockets,
        "tls": lambda: bool(ssl.create_default_context()),
        "memory": memory,
        "signals": signals,
        "scheduling": scheduling,
        "files": files,
        "terminal": terminal,
        "random": lambda: 0 <= random.SystemRandom().random() < 1,
    }
    for name, part in parts.items():
        print(name, "works" if part() else "fails", flush=True)
