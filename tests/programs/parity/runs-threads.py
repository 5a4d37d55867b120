import queue
import sys
import threading

results = queue.Queue()
threads = [threading.Thread(target=lambda n=n: results.put(n * n)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.queue))
threading.excepthook = lambda broken: print(broken.thread.name, broken.exc_type.__name__, file=sys.stderr)
threading.Thread(target=lambda: 1 / 0, name="broken").start()
