import atexit
import os

atexit.register(print, "never")
print("printed")
os._exit(5)
