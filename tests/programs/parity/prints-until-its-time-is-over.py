import time

print("first")
print("no line end", end="")
time.sleep(60)
