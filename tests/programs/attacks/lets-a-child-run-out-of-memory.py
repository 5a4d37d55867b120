import os
open('/proc/self/oom_score_adj', 'w').write('0')
pid = os.fork()
if pid == 0:
    open('/proc/self/oom_score_adj', 'w').write('1000')
    hog = bytearray()
    while True: hog += b'x' * (1 << 20)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
raise SystemExit(4)
