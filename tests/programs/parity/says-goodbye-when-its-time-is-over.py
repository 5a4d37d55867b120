import signal
import sys
import time


def goodbye(number, _):
    print(f"goodbye after {signal.Signals(number).name}")
    sys.exit(0)


signal.signal(signal.SIGTERM, goodbye)
print("ready", flush=True)
while True:
    time.sleep(60)
