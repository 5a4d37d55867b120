"""Looks for the secret of another program wherever one could be left, and prints where it is."""
import ctypes, os, sys

tail = os.environ['SECRET_TAIL'].encode()
# In two pieces, so that this program's own text is not what it finds.
secret = b'SEC' + b'RET' + tail
found = []


def look(path):
    try:
        with open(path, 'rb') as file:
            if secret in file.read(1 << 20):
                found.append(path)
    except OSError:
        pass


for top in ('/workspace', '/tmp', '/dev/shm', '/proc'):
    for folder, folders, files in os.walk(top):
        if folder.count('/') > 4:
            folders.clear()
        for name in files + folders:
            if secret.decode() in name:
                found.append(folder + '/' + name)
        for name in files:
            if top != '/proc' or name in ('environ', 'cmdline', 'unix', 'shm', 'keys'):
                look(folder + '/' + name)
libc = ctypes.CDLL(None)
if libc.shmget(0x5EC12E7, 4096, 0) >= 0:
    found.append('shared memory')
# Only what was there before this program: pieces of the secret in its own heap would be found otherwise.
needle = bytes(reversed(secret))
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
    for line in maps:
        bounds, rights = line.split()[:2]
        if 'r' not in rights or 'vvar' in line or 'vsyscall' in line:
            continue
        start, end = (int(bound, 16) for bound in bounds.split('-'))
        try:
            memory.seek(start)
            data = memory.read(end - start)
        except (OSError, ValueError, OverflowError):
            continue
        if data.count(secret + b'7' + secret + b'7') > 0:
            found.append('memory')
        del data
print(sorted(set(found)))
