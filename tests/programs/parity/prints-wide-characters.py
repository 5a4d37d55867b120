import sys

sys.stdout.buffer.write("€".encode() * 1000)
