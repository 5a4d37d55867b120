import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
        print("never")
    os._exit(0)
os.wait()
print("done")
