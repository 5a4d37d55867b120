import os
import sys

sys.stdout.write("a" * 300_000 + "\n")
if os.fork() == 0:
    sys.stdout.write("c" * 300_000 + "\n")
    os._exit(0)
os.wait()
sys.stdout.write("p" * 300_000 + "\n")
