def fill(path):
    with open(path, 'wb') as file:
        while True: file.write(b'x' * (1 << 20)); file.flush()
answers = {}
answers['fallocate'] = attempt(lambda: os.posix_fallocate(os.open('/workspace/a', os.O_RDWR | os.O_CREAT), 0, 10 << 20))
answers['second'] = attempt(lambda: os.posix_fallocate(os.open('/tmp/b', os.O_RDWR | os.O_CREAT), 0, 10 << 20))
answers['fill'] = attempt(lambda: fill('/dev/shm/c'))
answers['elsewhere'] = [path for path in ('/', '/dev', '/etc', '/root', '/run', '/var', '/usr') if attempt(lambda: open(path + '/x', 'w')) == 'ok']
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
answers['one huge file'] = attempt(lambda: os.truncate('/workspace/a', 1 << 40))
answers['free'] = os.statvfs('/workspace').f_bavail
answers['used'] = sum(os.stat(path).st_blocks * 512 for path in ('/workspace/a', '/tmp/b', '/dev/shm/c'))
print(json.dumps(answers))
