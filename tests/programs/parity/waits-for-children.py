import os
import signal
import time

ways = [lambda: os._exit(0), lambda: os._exit(7), lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os.abort()]
for way in ways:
    pid = os.fork()
    if pid == 0:
        way()
        time.sleep(30)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
