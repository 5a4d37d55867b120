import sys

for number in range(20_000):
    sys.stderr.write(f"line {number:06}\n")
sys.exit(3)
