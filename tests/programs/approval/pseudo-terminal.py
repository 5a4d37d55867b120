"""Makes a pseudo terminal and stands between it and our own streams.

Its name goes to descriptor 3 as a line. With arguments, they are run in a session that the terminal controls, with an
empty input; what that program prints goes to descriptor 4, and its exit status is ours.
"""

import fcntl
import os
import pty
import selectors
import struct
import sys
import termios

ROWS, COLUMNS = 30, 100
main, side = pty.openpty()
fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
os.write(3, os.ttyname(side).encode() + b"\n")
child = None
if len(sys.argv) > 1:
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(side, termios.TIOCSCTTY, 0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, descriptor in enumerate((nothing, 4, 4)):
            os.dup2(descriptor, number)
        os.closerange(3, 64)
        os.execvp(sys.argv[1], sys.argv[1:])
    # So that only the child's end is heard of, and descriptor 4 ends with it.
    os.close(4)

waiting = selectors.DefaultSelector()
waiting.register(0, selectors.EVENT_READ)
waiting.register(main, selectors.EVENT_READ)
while True:
    for key, _ in waiting.select(0.05 if child else None):
        data = os.read(key.fd, 65536)
        if key.fd == 0 and not data:
            sys.exit(0)
        target = main if key.fd == 0 else 1
        while data:
            data = data[os.write(target, data):]
    if child and os.waitpid(child, os.WNOHANG)[0]:
        os.set_blocking(main, False)
        try:
            while rest := os.read(main, 65536):
                os.write(1, rest)
        except OSError:
            pass
        sys.exit(0)
