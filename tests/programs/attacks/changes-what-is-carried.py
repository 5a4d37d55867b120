import threading
os.mkdir('busy')
host = os.environ['HOST_FOLDER']
def grow():
    while True:
        with open('busy/growing', 'wb') as file:
            for _ in range(200): file.write(b'x' * 4096); file.flush()
def shrink():
    while True:
        with open('busy/shrinking', 'wb') as file: file.truncate(300_000); file.truncate(10)
rounds = 0
def replace():
    global rounds
    while True:
        for make in (lambda: open('busy/new', 'w').write('inside'), lambda: os.mkfifo('busy/new'), lambda: os.symlink(host + '/secret', 'busy/new')):
            attempt(make); attempt(lambda: os.rename('busy/new', 'busy/changing')); rounds += 1
def remove():
    while True:
        attempt(lambda: os.makedirs('busy/a/b/c')); attempt(lambda: open('busy/a/b/c/file', 'w').write('inside'))
        attempt(lambda: os.rename('busy/a/b', 'busy/b')); attempt(lambda: os.unlink('busy/b/c/file')); attempt(lambda: os.rmdir('busy/b/c')); attempt(lambda: os.rmdir('busy/b'))
for work in (grow, shrink, replace, remove): threading.Thread(target=work, daemon=True).start()
while rounds < 100: time.sleep(0.001)
