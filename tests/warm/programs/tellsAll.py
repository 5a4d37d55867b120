import os
import stat
import sys

print(sys.argv, sys.flags, sys.path, __name__, __file__, sorted(vars()), sorted(sys.modules))
print(sorted(os.environ.items()), os.getcwd(), os.getpid(), os.umask(0), sorted(os.listdir('.')))
print(sorted(os.listdir('/')), open('/proc/mounts').read().count('\n'), sorted(os.listdir('/proc/self/fd')))
print(stat.S_IFMT(os.fstat(0).st_mode) == stat.S_IFCHR, repr(sys.stdin.read()), sys.stdin.encoding)
print('to stderr', file=sys.stderr)


def fails():
    raise ValueError('on purpose')


fails()
