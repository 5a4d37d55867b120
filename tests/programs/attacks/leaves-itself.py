"Behind leaves-and-finds.py: leaves a secret, and itself, wherever a program can leave anything."
import builtins, mmap, resource, signal, site, subprocess
secret = os.environ['SECRET']
leave()
for path in ('/tmp/' + secret, '/dev/shm/' + secret, '/workspace/json.py', '/workspace/sitecustomize.py', os.path.join(site.getusersitepackages(), 'usercustomize.py')):
    attempt(lambda: os.makedirs(os.path.dirname(path), exist_ok=True))
    attempt(lambda: open(path, 'w').write(f'left = {secret!r}'))
held = [(secret + str(number)) * 10 for number in range(10000)]
shared = mmap.mmap(-1, 1 << 20)
shared.write(secret.encode() * 1000)
memory = os.memfd_create(secret[:200])
os.write(memory, secret.encode())
builtins.left, sys.modules['left'], os.environ['LEFT'] = secret, secret, secret
attempt(lambda: open('/proc/self/comm', 'w').write(secret))
attempt(lambda: open('/proc/self/oom_score_adj', 'w').write('1000'))
attempt(lambda: open('/proc/sys/kernel/hostname', 'w').write(secret[:60]))
listener = socket.socket()
listener.bind(('127.0.0.1', 4713))
listener.listen()
os.umask(0)
os.nice(5)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
sys.setrecursionlimit(5000)
os.set_inheritable(memory, True)
child = subprocess.Popen(['sh', '-c', 'trap "" TERM HUP; echo; sleep 600', secret], env={'LEFT': secret}, close_fds=False, stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
os.chdir('/tmp')
