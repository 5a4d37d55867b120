# The fork server: makes programs ready, each in namespaces of its own, by forking itself.
#
# It is the most trusted program of the project, so it does little and says how. It runs inside bubblewrap, in the view of the
# file system that every program gets, in a PID namespace of its own, without a variable or a file of anybody. It never
# reads what a program prints or makes; it reads lines of numbers from the host, and that is all it parses.
#
# For each program there are two processes, in namespaces that only they are in:
#   - the keeper (keeper/keeper.c) is PID 1. It forks the program, waits for it, and reports how the kernel says that it ended, on
#     a descriptor that the program does not have. Nothing can be read from it or written to it.
#   - the program is PID 2. It builds the view, gives up every right, says that it is ready, waits for its orders, and becomes
#     the program: as the Python that it is already, or by execve(2) of the command that its orders name.
#
# The host names descriptors of ours (/proc/PID/fd) to open the other ends of the pipes; nothing else of it is ever open here.
import sys

COLD_MODULES = frozenset(sys.modules)

import ctypes
import gc
import os
import resource

import _signal

# The program finds only what an interpreter has when it starts, and what it was told to import meanwhile.
for name in set(sys.modules) - COLD_MODULES:
    del sys.modules[name]

# From <linux/sched.h>, <linux/mount.h>, <linux/prctl.h>, <linux/sockios.h>.
NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS, REMOUNT, BIND = 1, 2, 4, 8, 32, 4096
SET_DUMPABLE, SET_SECCOMP, NO_NEW_PRIVILEGES, AMBIENT = 4, 22, 38, 47
SECCOMP_FILTER, CLEAR_ALL = 2, 4
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
CAPABILITY_VERSION = 0x20080522
# From <linux/fcntl.h>: nothing may be written, cut off or added, and no seal either.
ADD_SEALS, ALL_SEALS = 1033, 0xF

# Where a program's first descriptors beyond the usual three are: the keeper's report, the orders (both as in keeper.c), the
# file system's root, and the pipe of its input while it may turn out to have none.
REPORT, ORDERS, ROOT, INPUT = 3, 4, 5, 6
INSIDE = 1000
# The program's file, which is not read again where it is no longer than this.
MAIN, MOST_CODE_BYTES = 'main.py', 1 << 20

# With the interpreter's lock held, as a child goes on where the call was.
libc = ctypes.PyDLL(None, use_errno=True)
libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]
libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def mount(source, target, kind, flags, options=''):
    names = [None if name is None else name.encode() for name in (source, target, kind, options)]
    check(libc.mount(names[0], names[1], names[2], flags, names[3]), 'mount ' + target)


def prctl(option, *arguments):
    padded = list(arguments) + [0] * (4 - len(arguments))
    return check(libc.prctl(option, *padded), 'prctl %d' % option)


class Instructions(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('first', ctypes.c_void_p)]


class Lines:
    """The lines of the host's."""

    def __init__(self):
        self.rest = b''

    def next(self):
        """What there was before its end where the last is no whole line."""
        line, end, rest = self.rest.partition(b'\n')
        while not end:
            more = os.read(0, 1 << 16)
            line, end, rest = (line + more).partition(b'\n')
            if not more:
                break
        self.rest = rest
        return line.decode('ascii').strip()


def answer(*words):
    os.write(1, (' '.join(map(str, words)) + '\n').encode('ascii', 'backslashreplace'))


def write_to(path, text):
    """Without a stream, whose making touches much memory."""
    file = os.open(path, os.O_WRONLY)
    os.write(file, text.encode('ascii'))
    os.close(file)


def begin_keeper_of(code):
    """The one function of keeper.c."""
    page = in_memory(code, ctypes)
    if page is None:
        raise OSError('no keeper can be put in place')
    kinds = (ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    return ctypes.PYFUNCTYPE(ctypes.c_long, *kinds)(page)


def close_all_from(first):
    os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def give_back_memory():
    """What was freed in between: every page that a program has takes time when it ends. Only the GNU C library can."""
    trim = getattr(libc, 'malloc_trim', None)
    if trim is not None:
        trim(0)


def give_up_rights(instructions):
    """No capability in any set, none to be gained, and the filter on system calls: from here on for good."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)()), 'capset')
    prctl(AMBIENT, CLEAR_ALL)
    prctl(NO_NEW_PRIVILEGES, 1)
    prctl(SET_SECCOMP, SECCOMP_FILTER, ctypes.addressof(instructions))


def build_view(disk_kb, inodes, owner):
    """The mounts that a program has for itself, over those that all share. Leaves the root of its files open as ROOT."""
    mount('glovebox', '/tmp', 'tmpfs', NO_SUID | NO_DEVICES, 'mode=0755,size=%dk,nr_inodes=%d' % (disk_kb, inodes))
    for name, mode in (('workspace', 0o755), ('tmp', 0o1777), ('shm', 0o1777)):
        path = '/tmp/' + name
        os.mkdir(path)
        os.chmod(path, mode)
        os.chown(path, owner, owner)
    os.close(os.open('/tmp/nothing', os.O_CREAT | os.O_WRONLY, 0o444))
    root = os.open('/tmp', os.O_PATH | os.O_DIRECTORY)
    if root != ROOT:
        os.dup2(root, ROOT, inheritable=False)
        os.close(root)
    mount('proc', '/proc', 'proc', NO_SUID | NO_DEVICES | NO_PROGRAMS)
    # No further user namespace, whoever asks.
    write_to('/proc/sys/user/max_user_namespaces', '0')
    mount('/proc/sys', '/proc/sys', None, BIND)
    mount(None, '/proc/sys', None, BIND | REMOUNT | READ_ONLY | NO_SUID | NO_DEVICES | NO_PROGRAMS)
    for hidden in ('/proc/keys', '/proc/key-users'):
        if os.path.exists(hidden):
            mount('/tmp/nothing', hidden, None, BIND)
            mount(None, hidden, None, BIND | REMOUNT | READ_ONLY | NO_SUID | NO_DEVICES)
    mount('devpts', '/dev/pts', 'devpts', NO_SUID | NO_PROGRAMS, 'newinstance,ptmxmode=0666,mode=620')
    mount('/tmp/workspace', '/workspace', None, BIND)
    mount('/tmp/shm', '/dev/shm', None, BIND)
    mount('/tmp/tmp', '/tmp', None, BIND)
    os.chdir('/workspace')


def raise_loopback():
    descriptor = check(libc.socket(2, 2, 0), 'socket')
    request = ctypes.create_string_buffer(b'lo', 40)
    check(libc.ioctl(descriptor, GET_FLAGS, request), 'the loopback')
    request[16] = ord(request[16]) | UP
    check(libc.ioctl(descriptor, SET_FLAGS, request), 'the loopback')
    os.close(descriptor)


def become_user(limits, instructions, is_mapped_by_root):
    """What is left of the program's rights and descriptors."""
    for which, value in zip(LIMITS, limits):
        if value >= 0:
            hard = resource.getrlimit(which)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (value, value))
    if is_mapped_by_root:
        os.setgroups([])
        os.setresgid(INSIDE, INSIDE, INSIDE)
        os.setresuid(INSIDE, INSIDE, INSIDE)
    give_up_rights(instructions)
    # As after an exec: what a program may read of itself.
    prctl(SET_DUMPABLE, 1)


LIMITS = (
    resource.RLIMIT_CORE,
    resource.RLIMIT_NOFILE,
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_CPU,
    resource.RLIMIT_DATA,
    resource.RLIMIT_NPROC,
)


def read_exactly(descriptor, count):
    data = b''
    while len(data) < count:
        more = os.read(descriptor, count - len(data))
        if not more:
            # Nobody wants a program from us any more.
            os._exit(0)
        data += more
    return data


def copy_to(target, size):
    while size > 0:
        data = os.read(ORDERS, min(size, 1 << 16))
        if not data:
            os._exit(0)
        size -= len(data)
        write_all(target, data)


def write_all(target, data):
    while data:
        data = data[os.write(target, data) :]


def take_orders(has_rehearsed):
    """
    Waits for them, and does what is to be done before the program begins: its input, its files. Returns what
    become_main() is to know, unless it is another program than this Python's.
    """
    source = None
    length = int.from_bytes(read_exactly(ORDERS, 4), 'little')
    words = iter([os.fsdecode(word) for word in read_exactly(ORDERS, length).split(b'\0')[:-1]])
    becomes, kind, size = next(words), next(words), int(next(words))
    arguments = [next(words) for _ in range(int(next(words)))]
    files = [(next(words), int(next(words))) for _ in range(int(next(words)))]
    if kind == 'stream':
        os.dup2(INPUT, 0)
    elif kind == 'file':
        place_input(size)
    for path, size in files:
        make_folders(path)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if path == MAIN and size <= MOST_CODE_BYTES:
            source = read_exactly(ORDERS, size)
            write_all(file, source)
        else:
            copy_to(file, size)
        os.fchmod(file, 0o644)
        os.close(file)
    close_all_from(3)
    variables = dict(variable.split('=', 1) for variable in words)
    if becomes == 'command':
        become_command(arguments, variables)
    return arguments, variables, source, kind != 'nothing' or not has_rehearsed


def become_command(command, variables):
    """As a cold one is started: nothing is ignored that only Python ignores."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    os.execve(command[0], command, variables)


def place_nothing():
    """As most programs have it; their pipe is kept for those that turn out to have another input."""
    os.dup2(0, INPUT, inheritable=False)
    nothing = os.open('/dev/null', os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def place_input(size):
    memory = os.memfd_create('stdin', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    copy_to(memory, size)
    # It is the program's own, and still no more than what it was given.
    check(libc.fcntl(memory, ADD_SEALS, ALL_SEALS), 'the seals of the input')
    # Once more, so that it can be read only and from its beginning.
    source = os.open('/proc/self/fd/%d' % memory, os.O_RDONLY)
    os.close(memory)
    os.dup2(source, 0)
    os.close(source)


def make_folders(path):
    for end in (index for index, character in enumerate(path) if character == '/'):
        try:
            os.mkdir(path[:end])
        except FileExistsError:
            continue
        os.chmod(path[:end], 0o755)


class Child:
    """One to be made: its pipes, and what it shall be held to."""

    def __init__(self, words):
        self.name, self.rehearses, self.is_held, self.disk_kb, self.inodes, *self.limits = map(int, words)
        # Each (to read, to write); the host has one end of each.
        self.pipes = [os.pipe() for _ in range(5)]
        (_, self.host_input), (self.host_output, _), (self.host_errors, _), (_, self.host_orders), (self.host_report, _) = (
            self.pipes
        )

    def ends(self):
        """What the host opens."""
        return self.host_input, self.host_output, self.host_errors, self.host_orders, self.host_report

    def own_ends(self):
        """What is to be its first descriptors, in their order."""
        (standard_input, _), (_, output), (_, errors), (orders, _), (_, report) = self.pipes
        return standard_input, output, errors, report, orders

    def give_to(self, owner):
        """The program may open its standard streams again, by name."""
        for descriptor in self.pipes[0] + self.pipes[1] + self.pipes[2]:
            os.fchown(descriptor, owner, owner)

    def close(self):
        for pipe in self.pipes:
            for descriptor in pipe:
                os.close(descriptor)


class Server:
    def __init__(self):
        self.lines = Lines()
        self.is_mapped_by_root = self.lines.next() == 'root'
        self.has_own_network = self.lines.next() == 'own'
        filter_bytes = bytes.fromhex(self.lines.next())
        self.filter = ctypes.create_string_buffer(filter_bytes, len(filter_bytes))
        self.instructions = Instructions(len(filter_bytes) // 8, ctypes.addressof(self.filter))
        self.begin_keeper = begin_keeper_of(bytes.fromhex(self.lines.next()))
        self.hold = holder_of(bytes.fromhex(self.lines.next()), ctypes)
        self.preload = [name for name in self.lines.next().split(',') if name]
        self.children = {}
        self.count = 0

    def begin(self):
        if self.is_mapped_by_root:
            # Root only to be given users of its own by the host's root; then it has no right on the host any more.
            os.setgroups([])
            # One with nothing over it: bubblewrap covers what root could write, and then none of ours could have its own.
            mount('proc', '/proc', 'proc', NO_SUID | NO_DEVICES | NO_PROGRAMS)
            check(libc.unshare(NEW_USER | NEW_MOUNT), 'unshare')
            answer('map')
            self.lines.next()
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            prctl(SET_DUMPABLE, 1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
        for name in self.preload:
            try:
                __import__(name)
            except BaseException as error:
                answer('failed', 'preload', name, repr(error))
                os._exit(70)
        if len(os.listdir('/proc/self/task')) > 1:
            answer('failed', 'preload', 'starts threads, which no fork takes along')
            os._exit(70)
        # What is there already is never garbage: a collection need not touch it, which would copy it.
        gc.collect()
        gc.freeze()
        give_back_memory()

    def users(self):
        """The keeper's and the program's, in our numbers. Root's children are all different people."""
        if not self.is_mapped_by_root:
            return None, os.getuid()
        self.count += 1
        return 2 * self.count - 1, 2 * self.count

    def make(self, words):
        child = Child(words)
        keeper, program = self.users()
        if keeper is not None:
            child.give_to(program)
        pid = self.fork(child)
        if pid == 0:
            return child
        for name, user in (('uid_map', os.getuid()), ('gid_map', os.getgid())):
            if keeper is None and name == 'gid_map':
                write_to('/proc/%d/setgroups' % pid, 'deny')
            lines = '%d %d 1\n' % (INSIDE, user) if keeper is None else '0 %d 1\n%d %d 1\n' % (keeper, INSIDE, program)
            write_to('/proc/%d/%s' % (pid, name), lines)
        self.children[child.name] = child
        answer('made', child.name, pid, program, *child.ends())
        return None

    def fork(self, child):
        """As os.fork, with a keeper in between, and in new namespaces: returns there when the host has sent it off."""
        flags = NEW_USER | NEW_PID | NEW_MOUNT | NEW_IPC | NEW_UTS | (NEW_NETWORK if self.has_own_network else 0)
        ends = (ctypes.c_int * 5)(*child.own_ends())
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = self.begin_keeper(flags, ends, self.is_mapped_by_root, ctypes.byref(self.instructions), libc.fork)
        if pid == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
        else:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid), 'clone')
        return pid

    def serve(self):
        """Does what the host asks for. Returns only in a child, with what it shall become."""
        answer('ready')
        while True:
            command, *words = self.lines.next().split() or ['end']
            if command == 'make':
                try:
                    child = self.make(words)
                except OSError as error:
                    # The host has no more use for a server that cannot make what it should.
                    answer('failed', 'make', error)
                    os._exit(70)
                if child is not None:
                    return child
            elif command == 'opened':
                self.children.pop(int(words[0])).close()
            else:
                os._exit(0)

    def become(self, child):
        """In a child: what is left until it is ready."""
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        build_view(child.disk_kb, child.inodes, INSIDE)
        if self.has_own_network:
            raise_loopback()
        become_user(child.limits, self.instructions, self.is_mapped_by_root)
        place_nothing()
        if child.rehearses:
            touch()
        reseed()
        if child.is_held:
            self.hold()


def wait_for_program():
    deepen(ctypes)
    server = Server()
    server.begin()
    child = server.serve()
    try:
        server.become(child)
    except BaseException as error:
        os.write(2, ('%s\n' % error).encode('utf-8', 'backslashreplace'))
        os._exit(70)
    return child.rehearses


def receive_program(has_rehearsed):
    os.write(REPORT, b'R')
    try:
        return take_orders(has_rehearsed)
    except BaseException:
        # No program has begun: nothing may look like its end. No status of wait(2) begins with this byte.
        os.write(REPORT, b'F')
        os._exit(70)


def begin():
    has_rehearsed = wait_for_program()
    become_main('/workspace/' + MAIN, lambda: receive_program(has_rehearsed))


begin()
