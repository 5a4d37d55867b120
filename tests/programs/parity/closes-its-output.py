import os
import time

os.write(1, b"before\n")
os.write(2, b"complaint\n")
os.close(1)
os.close(2)
time.sleep(0.2)
os._exit(6)
