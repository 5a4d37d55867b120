import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
print('ready', flush=True)
while True:
    try: os.mkdir('folder/sub')
    except OSError: pass
    libc.syscall(316, -100, b'folder/sub', -100, b'link', 2)
    try: os.mkdir('folder')
    except OSError: pass
