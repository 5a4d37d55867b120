"""Lets processes be held by what is in argv[1] (in hexadecimal), and tells as JSON what became of them and of their holders."""
import ctypes
import json
import mmap
import os
import subprocess
import sys
import time

code = bytes.fromhex(sys.argv[1])
page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
hold = ctypes.PYFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))


def status(pid, name):
    with open('/proc/%d/status' % pid) as lines:
        return next((line.split(None, 1)[1].strip() for line in lines if line.startswith(name + ':')), None)


def asleep(pid):
    """Waits until it has done what it does at first; it is a child of this process."""
    while status(pid, 'State')[0] != 'S' or os.listdir('/proc/%d/fd' % pid):
        time.sleep(0.001)


def wait_until_held(read):
    """The holder's number, from a child that has called it; both wait."""
    return int(os.read(read, 100))


def held(then):
    """A child that is held, and then does something once this process says so: (it, its holder, the say-so)."""
    said, say = os.pipe()
    begin, go = os.pipe()
    child = os.fork()
    if child == 0:
        block = bytearray(64 << 20)
        block[::4096] = b'x' * (len(block) // 4096)
        holder = hold()
        try:
            os.waitpid(-1, os.WNOHANG)
            os._exit(99)
        except ChildProcessError:
            pass
        os.write(say, b'%d' % holder)
        os.read(begin, 1)
        then(holder)
        os._exit(98)
    holder = wait_until_held(said)
    asleep(holder)
    return child, holder, go


def reaped(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


facts = {}

child, holder, go = held(lambda holder: os._exit(7))
facts['holder'] = {
    'parent is ours': int(status(holder, 'PPid')) == os.getpid(),
    'descriptors': os.listdir('/proc/%d/fd' % holder),
    'shares memory': status(holder, 'VmRSS') == status(child, 'VmRSS'),
    'signals of the child blocked': int(status(child, 'SigBlk'), 16),
    'refuses': int(status(holder, 'SigBlk'), 16) & (1 << 14) != 0,
}
os.kill(holder, 2)
os.kill(holder, 15)
os.write(go, b'x')
facts['after an end'] = [reaped(child), reaped(holder)]

child, holder, go = held(lambda holder: os.execv('/bin/sleep', ['sleep', '60']))
os.write(go, b'x')
facts['after an exec'] = [reaped(holder), os.readlink('/proc/%d/exe' % child).rsplit('/', 1)[-1] != 'python3']
os.kill(child, 9)
reaped(child)

child, holder, go = held(lambda holder: (os.kill(holder, 9), os._exit(8)))
os.write(go, b'x')
facts['without it'] = [reaped(holder), reaped(child)]

if len(sys.argv) > 2:
    # A shared object, loaded by Node.js, of which this process is the parent.
    path = '/tmp/holder-%d' % os.getpid()
    with open(path, 'wb') as file:
        file.write(bytes.fromhex(sys.argv[2]))
    program = '''
    try { process.dlopen({ exports: {} }, process.argv[1]); } catch {}
    console.log(require('fs').readFileSync('/proc/self/maps', 'utf8').includes(process.argv[1]));
    require('fs').readSync(0, Buffer.alloc(1));
    process.reallyExit(9);
    '''
    node = subprocess.Popen([sys.argv[3], '-e', program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    loaded = node.stdout.readline().decode().strip()
    os.unlink(path)
    with open('/proc/self/task/%d/children' % os.getpid()) as children:
        holder = next(int(pid) for pid in children.read().split() if int(pid) != node.pid)
    asleep(holder)
    node.stdin.write(b'x')
    node.stdin.close()
    facts['node'] = {'still loaded': loaded, 'exit': node.wait(), 'holder': reaped(holder)}

print(json.dumps(facts))
