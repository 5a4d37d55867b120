import os
import signal
import sys
import time

number = int(sys.argv[1])
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
print("before", flush=True)
os.kill(os.getpid(), number)
time.sleep(30)
