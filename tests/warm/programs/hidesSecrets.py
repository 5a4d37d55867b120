"""Leaves a secret wherever a program can leave one, and tells where it finds it again: the control for findsSecrets.py."""
import ctypes, os, socket, subprocess, sys, threading, time

secret = 'SECRET' + os.environ['SECRET_TAIL']
for folder in ('/workspace', '/tmp', '/dev/shm'):
    with open(folder + '/' + secret, 'w') as file:
        file.write(secret)
os.environ['LEFT'] = secret
listener = socket.socket(socket.AF_UNIX)
listener.bind('\0' + secret)
libc = ctypes.CDLL(None)
key = libc.shmget(0x5EC12E7, 4096, 0o1666)
address = ctypes.c_void_p(libc.shmat(key, None, 0))
held = [(secret + str(number)) * 100 for number in range(1000)]
subprocess.Popen(['sleep', '100', ], env={'LEFT': secret}, start_new_session=True)
