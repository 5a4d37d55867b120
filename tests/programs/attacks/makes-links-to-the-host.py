host = os.environ['HOST_FOLDER']
os.makedirs('real/inner'); open('real/inner/file', 'w').write('inside')
for name, to in {'link': host, 'link-file': host + '/secret', 'root': '/', 'etc': '/etc', 'up': '..', 'up2': '../..', 'self': 'self', 'dangling': '/nowhere', 'to-real': 'real',
                 'proc': '/proc/self/root', 'fd': '/proc/self/fd', 'cwd': '/proc/self/cwd', 'dangling-host': host + '/new', 'real/back': '../real', 'real/inner/out': host}.items():
    os.symlink(to, name)
os.mkfifo('fifo'); s = socket.socket(socket.AF_UNIX); s.bind('socket')
os.mkdir('directory')
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open('sparse', 'wb') as file: file.truncate(200 << 20)
open('small', 'w').write('small')
os.mkdir('closed'); open('closed/file', 'w').write('x'); os.chmod('closed', 0)
print('made')
