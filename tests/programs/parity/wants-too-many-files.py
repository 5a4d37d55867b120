import errno
import os

try:
    while True:
        last = os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    print(errno.errorcode[error.errno])
