import errno
import os

block = b"x" * (1 << 20)
written = 0
try:
    with open("full", "wb", buffering=0) as file:
        while True:
            written += file.write(block)
except OSError as error:
    print(errno.errorcode[error.errno], 32 << 20 < written <= 64 << 20)
os.unlink("full")
with open("again", "w") as file:
    print(file.write("fits"))
