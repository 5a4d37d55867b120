"Behind leaves-and-finds.py: where anything of another program is to be found, and what else it would have changed."
import re, resource, signal
# A pattern that is not what it finds: the secret is nowhere in this program, if it is not there already.
wanted = re.compile(os.environ['WANTED'].encode())
found = set(find())
for top in ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue', '/var/tmp', '/run', '/proc'):
    for folder, folders, files in os.walk(top):
        if folder.count('/') > (2 if top == '/proc' else 8): folders.clear()
        for name in files + folders:
            path = os.path.join(folder, name)
            if wanted.search(os.fsencode(name)): found.add(top + ' name')
            if name not in files or not os.path.isfile(path): continue
            if top == '/proc' and name not in ('environ', 'cmdline', 'comm', 'maps', 'unix', 'tcp', 'keys', 'shm', 'locks'): continue
            try:
                if wanted.search(open(path, 'rb').read(1 << 20)): found.add(f'/proc {name}' if top == '/proc' else path)
            except (OSError, ValueError): pass
for descriptor in os.listdir('/proc/self/fd'):
    try:
        if wanted.search(os.fsencode(os.readlink('/proc/self/fd/' + descriptor))): found.add('descriptor')
    except OSError: pass
def find_in_memory():
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
        for line in maps.read().splitlines():
            bounds, rights = line.split()[:2]
            if 'r' not in rights or 'vvar' in line or 'vsyscall' in line: continue
            start, end = (int(bound, 16) for bound in bounds.split('-'))
            try:
                for at in range(start, end, 1 << 20):
                    memory.seek(at)
                    if wanted.search(memory.read(min(1 << 20, end - at))): found.add('memory')
            except (OSError, ValueError, OverflowError): pass
attempt(find_in_memory)
if attempt(lambda: socket.create_connection(('127.0.0.1', 4713), timeout=1).close()) == 'ok': found.add('port')
changed = {
    'folder': os.getcwd(), 'files': sorted(os.listdir('.')), 'umask': os.umask(0o22), 'niceness': os.nice(0), 'host': socket.gethostname(),
    'limits': [resource.getrlimit(which) for which in range(16)], 'recursion': sys.getrecursionlimit(), 'processes': len([pid for pid in os.listdir('/proc') if pid.isdigit()]),
    'signals': [str(signal.getsignal(number)) for number in range(1, 32)], 'score': attempt(lambda: found.add('score') if open('/proc/self/oom_score_adj').read() == '1000\n' else None),
    'modules': [name for name in ('left', 'sitecustomize', 'usercustomize') if name in sys.modules], 'builtins': hasattr(__builtins__, 'left'),
    'descriptors': sorted(os.listdir('/proc/self/fd')), 'variables': sorted(os.environ), 'arguments': sys.argv[1:],
}
print(json.dumps({'found': sorted(found), 'changed': changed}))
