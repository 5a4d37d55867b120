import sys

sys.stdout.write("0123456789abcdef" * (5 << 16))
