def hide(marker):
    "Double fork, a session of its own, nothing open, an environment without any mark."
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.chdir('/')
            for fd in range(0, 256):
                if fd == writing: continue
                try: os.close(fd)
                except OSError: pass
            os.set_inheritable(writing, False)
            os.execve('/bin/sh', [marker, '-c', 'trap "" TERM HUP INT; while :; do sleep 600; done', marker], {})
        os._exit(0)
    os.close(writing)
    # Closed by the exec: the hidden process is on its way.
    os.read(reading, 1)
