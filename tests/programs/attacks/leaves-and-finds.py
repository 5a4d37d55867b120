import fcntl
def leave():
    answers = {}
    for path in ('/tmp/left', '/dev/shm/left', '/workspace/left', os.path.expanduser('~/.profile'), '/var/tmp/left', '/run/left', '/run/lock/left'):
        answers[path] = attempt(lambda: open(path, 'w').write('left'))
    answers['shm'] = call(libc.shmget, 0x47423031, 4096, 0o1666)
    answers['sem'] = call(libc.semget, 0x47423032, 1, 0o1666)
    answers['msg'] = call(libc.msgget, 0x47423033, 0o1666)
    answers['mq'] = syscall(240, b'left', 0o102, 0o666, None)
    answers['key'] = syscall(248, b'user', b'left', b'x', 1, -4)
    global kept
    kept = socket.socket(socket.AF_UNIX); answers['abstract'] = attempt(lambda: kept.bind('\0glovebox-left'))
    return answers
def find():
    found = [path for path in ('/tmp/left', '/dev/shm/left', '/workspace/left', os.path.expanduser('~/.profile'), '/var/tmp/left', '/run/left', '/run/lock/left') if os.path.lexists(path)]
    if libc.shmget(0x47423031, 0, 0) >= 0: found.append('shm')
    if libc.semget(0x47423032, 0, 0) >= 0: found.append('sem')
    if libc.msgget(0x47423033, 0) >= 0: found.append('msg')
    if syscall(240, b'left', 0, 0, None) == 'ok': found.append('mq')
    if syscall(249, b'user', b'left', None, 0) == 'ok': found.append('key')
    if 'glovebox-left' in open('/proc/net/unix').read(): found.append('abstract')
    if os.path.exists('/proc/keys') and len(open('/proc/keys').read().split()) > 0: found.append('keys')
    return found
