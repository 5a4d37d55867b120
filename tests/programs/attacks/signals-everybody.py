import os, signal, time
pid = os.fork()
if pid == 0:
    time.sleep(60)
os.kill(-1, signal.SIGKILL)
print('child ended by', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
try: os.kill(1, signal.SIGKILL)
except OSError as error: print(error)
try: os.kill(os.getppid(), signal.SIGSTOP)
except OSError as error: print(error)
os._exit(7)
