import os
import threading


def flood(descriptor, letter):
    left = memoryview(letter * (3 << 20))
    while left:
        left = left[os.write(descriptor, left) :]


threads = [threading.Thread(target=flood, args=pair) for pair in ((1, b"o"), (2, b"e"))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
