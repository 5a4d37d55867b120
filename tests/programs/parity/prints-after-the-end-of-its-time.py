import signal
import time

signal.signal(signal.SIGTERM, lambda *_: print("not yet", flush=True))
print("ready", flush=True)
while True:
    time.sleep(60)
