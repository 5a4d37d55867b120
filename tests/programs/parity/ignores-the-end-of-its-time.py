import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ignoring", flush=True)
while True:
    time.sleep(60)
