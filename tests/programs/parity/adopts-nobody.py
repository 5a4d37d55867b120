"""Its orphans are reaped by whoever is init there, and never stay as zombies."""
import os
import time

reading, writing = os.pipe()
if os.fork() == 0:
    orphan = os.fork()
    if orphan == 0:
        os.close(reading)
        os.close(writing)
        os._exit(0)
    os.write(writing, str(orphan).encode())
    os._exit(0)
os.close(writing)
orphan = os.read(reading, 32).decode()
os.wait()
while os.path.exists(f"/proc/{orphan}"):
    time.sleep(0.001)
print("reaped")
