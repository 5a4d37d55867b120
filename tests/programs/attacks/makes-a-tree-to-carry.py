import fcntl, signal
host = os.environ['HOST_FOLDER']
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.makedirs('tree/good/inner'); open('tree/good/inner/file', 'w').write('inside'); open('tree/tool', 'w').write('#!/bin/sh\n'); os.chmod('tree/tool', 0o4755)
os.chdir('tree')
for name, to in {'link': host, 'link-file': host + '/secret', 'root': '/', 'up': '..', 'dangling': '/nowhere', 'self': 'self', 'chain': 'link', 'good/out': '../link', 'tmp': '/tmp'}.items():
    os.symlink(to, name)
os.mkfifo('fifo'); s = socket.socket(socket.AF_UNIX); s.bind('socket')
os.link('good/inner/file', 'second-name')
attempt(lambda: os.mknod('device', 0o020666, os.makedev(1, 5)))
os.mkdir('names')
for name in (b'new\nline', b'\xff', b'\\xff', b'a\xc0\xafb', b'..x', b'-rf', b'x' * 255, b'\xfe' * 255, '\u202e'.encode(), b'end\n'):
    open(b'names/' + name, 'wb').write(name)
os.mkdir('closed'); open('closed/file', 'w').write('closed'); os.chmod('closed', 0)
open('closed-file', 'w').write('closed'); os.chmod('closed-file', 0)
top = os.getcwd()
for depth in range(300):
    os.mkdir('d' * 200); os.chdir('d' * 200)
os.chdir(top)
print('made')
