"""Does what it can to outlive its deadline: ignores SIGTERM, forks, starts sessions of its own, and never ends."""

import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)


def again(role):
    """The same program as a new one, whose command line still holds our last argument."""
    os.execv(sys.executable, [sys.executable, __file__, role, sys.argv[-1]])


role = sys.argv[1]
if role == "main":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            again("daemon")
        os._exit(0)
    if os.fork() == 0:
        again("child")
    while not (os.path.exists("child") and os.path.exists("daemon")):
        time.sleep(0.001)
    print("ready", flush=True)
elif role == "daemon":
    os.closerange(0, 3)
open(role, "w").close()

while True:
    time.sleep(0.001)
