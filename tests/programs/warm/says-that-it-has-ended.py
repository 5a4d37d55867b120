"""Looks for ways to say that it has ended, or to make others say so. Ends with 7."""
import os
import signal

# As the first process writes it: no more to come, status 0, nobody ended for want of memory.
END = bytes(12)


def attempt(action):
    try:
        action()
    except OSError:
        pass


def write_to(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(descriptor, END)


def others():
    return [int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) != os.getpid()]


for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
os.write(1, b'before\n')
for descriptor in range(3, 256):
    attempt(lambda: os.write(descriptor, END))
for pid in others():
    for descriptor in range(16):
        attempt(lambda: write_to('/proc/%d/fd/%d' % (pid, descriptor)))
    attempt(lambda: os.close(os.open('/proc/%d/mem' % pid, os.O_RDWR)))
for number in (signal.SIGSTOP, signal.SIGKILL):
    attempt(lambda: os.kill(os.getppid(), number))
    attempt(lambda: os.kill(1, number))
os.write(1, END)
os.write(2, END)
os.write(1, b'after\n')
os._exit(7)
