import os, threading
def flood(fd, text):
    view, left = memoryview(text * (1 << 16)), 200 << 20
    while left > 0: left -= os.write(fd, view[:min(left, len(view))])
threads = [threading.Thread(target=flood, args=(fd, text)) for fd, text in ((1, b'\xf0\x9f\x98\x80'), (2, b'\xff\x00ab'))]
for thread in threads: thread.start()
for thread in threads: thread.join()
os._exit(5)
