import os

os.write(1, b"a\0b\n\0\0\n\x1b[31mred\x07\r\n")
