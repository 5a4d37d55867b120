# Makes an interpreter that has waited the one that `python3 -u -B FILE ARGS` would have started just now.
#
# The interpreter was started in just this way, with a text of ours as FILE, behind this one; the descriptors 0, 1 and 2 are
# the program's. What a program can still tell, as no way is known to hide it: the figures of the garbage collector,
# /proc/self/environ and cmdline, the processor time spent while waiting, the process that holds its memory (holder/holder.c);
# outside Python 3.11 to 3.13 one frame of ours below `<module>`, and there, or where there is no ctypes, a higher recursion
# limit, so that a recursion goes as deep as in a cold run; and tracing functions that it leaves in place stop with it. A file that is not
# plain (no UTF-8, not to be compiled) starts a cold interpreter in this process.
# Nothing is imported for longer than a call but what every interpreter has loaded when it starts. From Python 3.8 on.
import _signal
import _thread
import _warnings
import _weakref
import builtins
import os
import sys
import time

# Our own: a program may put others into their places.
__builtins__ = dict(vars(builtins))
OURS = globals()
end_process = os._exit
send_signal = os.kill

# What Python sets to None before it takes modules apart, and which streams it puts back.
SYS_DELETED = (
    'path',
    'argv',
    'ps1',
    'ps2',
    'last_exc',
    'last_type',
    'last_value',
    'last_traceback',
    'path_importer_cache',
    'path_hooks',
    'meta_path',
    '__interactivehook__',
)
# Before 3.10 they belong to the module, and the one that is loaded last has them.
HAS_EXIT_FUNCTIONS_OF_INTERPRETER = sys.version_info >= (3, 10)
SAYS_WHAT_IT_FLUSHED = sys.version_info >= (3, 13)
SYS_LAST = ('last_exc', 'last_type', 'last_value', 'last_traceback')
# How deep the interpreter stands when the program starts, more than in a cold run: become(), and before 3.12 exec() too.
RECURSION_BELOW = 1 if sys.version_info >= (3, 12) else 2
# The numbers of RESUME and NOP, from opcode.py. No other version is known to hide frames in this way.
RESUME_AND_NOP = {(3, 11): (151, 9), (3, 12): (151, 9), (3, 13): (149, 30)}
# What was put into builtins after Python took the copy to which it goes back.
BUILTINS_OF_SITE = ('open', 'exit', 'quit', 'copyright', 'credits', 'license', 'help', '_')
SYS_STREAMS = ('stdin', 'stdout', 'stderr')


def become_main(file, receive, modules=None):
    """Waits for a program and runs it in this interpreter, to its end, and ends the process as it would have ended.

    It does not return: it raises what must pass through all its callers, so that no frame of theirs is left below the
    program. `receive` is called then, and waits: it returns the program's arguments and variables, what is in its file
    (None where that is to be read), and whether its standard input is another than touch() found. `modules` are the names
    that may be in sys.modules when the program starts; all of them stay without it.
    """
    hook, sys.excepthook = sys.excepthook, become
    raise Becoming(file, receive, modules, hook)


class Becoming(BaseException):
    """Unwinds the interpreter to where it started; what it calls then for uncaught exceptions is ours."""


def become(_kind, becoming, _trace):
    """The one frame below the program."""
    file, receive, modules, sys.excepthook = becoming.args
    for name in SYS_LAST:
        vars(sys).pop(name, None)
    start = prepare(file, modules)
    code = set_up(start, file, *receive())
    ended_by = None
    try:
        exec(code, start.namespace())
    except BaseException as error:
        ended_by = error
    sys.settrace(None)
    sys.setprofile(None)
    del code
    status, interrupted = end_of_main(start, ended_by)
    ended_by = None
    try:
        status = finish_program(start, status, interrupted)
    except Exception:
        # Whatever the program has broken for us, Python itself can still end it.
        raise SystemExit(status) from None
    end_process(status)


def touch():
    """Goes once, while nobody waits, through what a program is likely to need first. Leaves nothing behind."""
    source = (
        b'import sys\nclass A:\n    def __init__(self, x):\n        self.x = [x, {"a": 1.5}, f"{x:>3}"]\n'
        b'def f(n):\n    return sum(i * i for i in range(n))\n'
        b'try:\n    A(f(50)).y\nexcept AttributeError as error:\n    print(1, error, file=out)\n'
        b'    sys.__excepthook__(type(error), error, error.__traceback__)\n'
    )
    before = set(sys.modules)
    with open(os.devnull, 'w') as out:
        stderr, sys.stderr = sys.stderr, out
        try:
            exec(compile(source, __file__, 'exec', dont_inherit=True), {'out': out})
        finally:
            sys.stderr = stderr
    for name in set(sys.modules) - before:
        del sys.modules[name]
    packages = {path for module in sys.modules.values() for path in getattr(module, '__path__', ())}
    for folder in set(sys.path_importer_cache) - COLD_FINDERS - packages:
        del sys.path_importer_cache[folder]
    rehearse()
    # What is there now is no garbage of the program: whoever collects at its end need not look at it.
    GC.collect()
    GC.freeze()


def rehearse():
    """What an end and a beginning go through and that changes nothing: a forked process has its pages to itself then."""
    set_environment(dict(os.environ))
    renew_standard_input()
    state = State(False)
    is_left_simple(state)
    flush_streams()
    vars(builtins).update(state.builtins)


def deepen(ctypes):
    """
    Lets recursion go as deep as in a cold run, without another limit. Python keeps the limit beside what is left of it in
    the state of a thread (`PyThreadState`, from 3.11 on): found by limits that nothing else there is.
    """
    global has_deepened
    if has_deepened or sys.version_info[:2] not in RESUME_AND_NOP:
        return
    state = ctypes.PYFUNCTYPE(ctypes.c_void_p)(('PyThreadState_Get', ctypes.pythonapi))()
    numbers = (ctypes.c_int * 64).from_address(state)
    limit = sys.getrecursionlimit()
    places = set(range(1, 64))
    for unusual in (limit + 7919, limit + 104729):
        sys.setrecursionlimit(unusual)
        places = {place for place in places if numbers[place] == unusual and 0 < unusual - numbers[place - 1] < 100}
    sys.setrecursionlimit(limit)
    if len(places) == 1:
        numbers[places.pop() - 1] += RECURSION_BELOW
        has_deepened = True


has_deepened = False


def holder_of(code, ctypes):
    """What makes a process that keeps the memory of its caller, which so ends at once: see holder/holder.c."""
    page = in_memory(code, ctypes)
    return (lambda: None) if page is None else ctypes.PYFUNCTYPE(ctypes.c_long)(page)


def in_memory(code, ctypes):
    """Where this code can be run from; None where there is none, or nowhere."""
    # From <sys/mman.h>.
    read, write, execute, private, anonymous = 1, 2, 4, 2, 32
    libc = ctypes.PyDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page = libc.mmap(None, len(code), read | write, private | anonymous, -1, 0) if code else None
    if page in (None, ctypes.c_void_p(-1).value):
        return None
    ctypes.memmove(page, code, len(code))
    return None if libc.mprotect(page, len(code), read | execute) < 0 else page


def reseed():
    """In a child that was forked: random numbers of its own, where a module was loaded before that makes them."""
    loaded = sys.modules.get
    if loaded('random'):
        loaded('random').seed()
    if loaded('numpy.random'):
        loaded('numpy.random').seed()
    if loaded('tempfile'):
        loaded('tempfile')._name_sequence = None
    if loaded('uuid'):
        loaded('uuid')._last_timestamp = None


class State:
    """What there was when the program started."""

    def __init__(self, is_asynchronous):
        self.modules = sys.modules
        self.loaded = set(sys.modules) - {'__main__'}
        self.builtins = {name: value for name, value in vars(builtins).items() if name not in BUILTINS_OF_SITE}
        self.sys = set(vars(sys))
        self.filters = list(_warnings.filters)
        # What has looked into folders is large, and nothing of the program: it need not be taken apart.
        self.finders = list(sys.path_importer_cache.values())
        self.is_asynchronous = is_asynchronous

    @staticmethod
    def namespace():
        return vars(sys.modules['__main__'])


# Before the program


def prepare(file, modules):
    """What does not depend on the program."""
    if modules is not None:
        for name in set(sys.modules) - set(modules) - {'__main__'}:
            del sys.modules[name]
    sys.modules['__main__'] = fresh_main(file)
    if not has_deepened:
        sys.setrecursionlimit(sys.getrecursionlimit() + RECURSION_BELOW)
    return State(False)


def set_up(start, file, args, env, source, has_new_input):
    code, start.is_asynchronous = read_code(file, args, env, source)
    set_environment(env)
    sys.argv = [file, *args]
    if hasattr(sys, 'orig_argv'):
        sys.orig_argv = cold_command(file, args)
    # Files may have come in the same tick of the clock in which it was read.
    sys.path_importer_cache.pop(sys.path[0], None)
    if has_new_input:
        renew_standard_input()
    return code


def cold_command(file, args):
    started = getattr(sys, 'orig_argv', None) or [sys.executable]
    return [started[0], '-u', '-B', file, *args]


def read_code(file, args, env, source):
    stderr = sys.stderr
    sys.stderr = warned = Recorder()
    try:
        if source is None:
            with open(file, 'rb', 0) as opened:
                source = opened.read()
        code = compile(source, file, 'exec', dont_inherit=True) if is_plain(source) else None
    except BaseException:
        code = None
    finally:
        sys.stderr = stderr
    if code is None:
        start_cold(file, args, env)
    for text in warned.texts:
        stderr.write(text)
    return code, b'async ' in source


class Recorder:
    """Keeps the warnings of the compiler back until it is known that the file compiles."""

    def __init__(self):
        self.texts = []

    def write(self, text):
        self.texts.append(text)

    def flush(self):
        pass


def is_plain(source):
    """Whether compile() reads these bytes as the interpreter reads such a file."""
    if b'\0' in source or b'\r' in source:
        return False
    head = source.split(b'\n', 2)[:2]
    if any(b'coding' in line and b'#' in line and b'utf-8' not in line for line in head):
        return False
    source.decode()
    return True


def start_cold(file, args, env):
    for number in (_signal.SIGPIPE, getattr(_signal, 'SIGXFSZ', None)):
        if number is not None:
            _signal.signal(number, _signal.SIG_DFL)
    os.execve(sys.executable, cold_command(file, args), env)


def set_environment(env):
    zone = os.environ.get('TZ')
    for name in list(os.environ):
        del os.environ[name]
    for name, value in env.items():
        os.environ[name] = value
    if env.get('TZ') != zone:
        time.tzset()


def renew_standard_input():
    """Its object remembers what the descriptor was when it was opened, which may be another now."""
    old = sys.__stdin__
    encoding, errors = ('utf-8', 'strict') if old is None else (old.encoding, old.errors)
    try:
        raw = open(0, 'rb', closefd=False)
    except OSError:
        sys.stdin = sys.__stdin__ = None
        return
    raw.raw.name = '<stdin>'
    text = type(sys.__stderr__ or old)(raw, encoding, errors, '\n', raw.isatty())
    text.mode = 'r'
    sys.stdin = sys.__stdin__ = text


def fresh_main(file):
    main = type(sys)('__main__')
    names = vars(main)
    loader = sys.modules['_frozen_importlib_external'].SourceFileLoader
    names['__loader__'] = loader('__main__', file)
    if sys.version_info < (3, 14):
        names['__annotations__'] = {}
    names['__builtins__'] = builtins
    names['__file__'] = file
    names['__cached__'] = None
    return main


# After the program: what pythonrun.c and pylifecycle.c do, in their order


def end_of_main(start, error):
    """The status, and whether Python would end itself by SIGINT."""
    for name in ('stderr', 'stdout'):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass
    if error is None:
        forget_file(start)
        return 0, False
    error.__traceback__ = without_ours(error.__traceback__)
    if isinstance(error, SystemExit):
        return status_of(error), False
    interrupted = type(error) is KeyboardInterrupt
    status = show_uncaught(error)
    if status is not None:
        return status, False
    forget_file(start)
    return 1, interrupted


def forget_file(start):
    main = start.modules.get('__main__')
    if main is not None:
        for name in ('__file__', '__cached__'):
            vars(main).pop(name, None)


def without_ours(trace):
    """A traceback without our frames at its beginning, where Python shows them."""
    while trace is not None and trace.tb_frame.f_globals is OURS:
        trace = trace.tb_next
    return trace


def status_of(error):
    """How Python reads a SystemExit. Where it has something to say, it is raised: then Python itself ends with it."""
    try:
        value = error.code
    except BaseException:
        raise error
    if value is None:
        return 0
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return value & 0xFF
    raise error


def say_on_stderr(text):
    try:
        sys.stderr.write(text)
    except BaseException:
        pass


def show_uncaught(error):
    """Gives an uncaught exception to the hook. A status where the hook has ended the program, else None."""
    kind, trace = type(error), error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    if not hasattr(sys, 'excepthook'):
        say_on_stderr('sys.excepthook is missing\n')
        sys.__excepthook__(kind, error, trace)
        return None
    second = None
    try:
        sys.audit('sys.excepthook', sys.excepthook, kind, error, trace)
        sys.excepthook(kind, error, trace)
    except BaseException as raised:
        second = raised
    if second is None:
        return None
    if isinstance(second, SystemExit):
        return status_of(second)
    second.__traceback__ = without_ours(second.__traceback__)
    say_on_stderr('Error in sys.excepthook:\n')
    sys.__excepthook__(type(second), second, second.__traceback__)
    say_on_stderr('\nOriginal exception was:\n')
    sys.__excepthook__(kind, error, trace)
    return None


def finish_program(start, status, interrupted):
    sys.unraisablehook = WithoutUs(sys.unraisablehook)
    end_threads(start)
    run_exit_functions(start)
    is_simple = is_left_simple(start)
    if not is_simple and not interrupted:
        raise SystemExit(status)
    if not flush_streams():
        status = 120
    reset_signals()
    if is_simple:
        tear_down(start)
    if interrupted:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        send_signal(os.getpid(), _signal.SIGINT)
        return 130
    return status


def is_left_simple(start):
    """Whether we can take apart what is left. Only Python can stop other threads, and warn from a place that is nowhere."""
    if _thread._count() > 0:
        return False
    warnings = start.modules.get('warnings', _warnings)
    if any(found[0] != 'ignore' and found not in start.filters for found in warnings.filters):
        return False
    return not start.is_asynchronous and 'asyncio' not in start.modules or not any(map(is_coroutine, GC.get_objects()))


def is_coroutine(found):
    return type(found).__name__ == 'coroutine'


class WithoutUs:
    """A hook for exceptions that nobody can catch, which says nothing of frames that are not in a cold run."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, args):
        trace = without_ours(args.exc_traceback)
        if trace is not args.exc_traceback:
            args = UnraisableHookArgs((args.exc_type, args.exc_value, trace, args.err_msg, args.object))
        self.hook(args)


def end_threads(start):
    threading = start.modules.get('threading')
    if threading is None:
        return
    raised = None
    try:
        threading._shutdown()
    except BaseException as error:
        raised = error
    if raised is not None:
        report_unraisable(raised, threading)


def run_exit_functions(start):
    try:
        if HAS_EXIT_FUNCTIONS_OF_INTERPRETER:
            run_exit_functions_of_interpreter()
        elif 'atexit' in start.modules:
            start.modules['atexit']._run_exitfuncs()
    except BaseException:
        # Before 3.10 the last exception comes back, after it was shown.
        pass


def flush_streams():
    good = True
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name, None)
        if stream is None or is_closed(stream):
            continue
        raised = None
        try:
            stream.flush()
        except BaseException as error:
            raised = error
        if raised is not None:
            good = False
            if name == 'stdout' and SAYS_WHAT_IT_FLUSHED:
                report_unraisable(raised, None, 'Exception ignored on flushing sys.stdout')
            elif name == 'stdout':
                report_unraisable(raised, stream)
    return good


def is_closed(stream):
    try:
        return bool(stream.closed)
    except BaseException:
        return False


def reset_signals():
    for number in range(1, _signal.NSIG):
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)


def tear_down(start):
    """Lets go of all that the program has made, so that its finalizers run as when an interpreter ends."""
    flush_c = c_flush(start)
    if GC.isenabled():
        GC.collect()
    # From here on Python collects without telling anybody.
    del GC.callbacks[:]
    vars(builtins)['_'] = None
    for name in SYS_DELETED:
        if hasattr(sys, name):
            setattr(sys, name, None)
    for name in SYS_STREAMS:
        setattr(sys, name, getattr(sys, '__%s__' % name, None))
    kept = [start.modules.get(name) for name in start.loaded]
    brought = []
    for name, module in list(start.modules.items()):
        if name not in start.loaded and isinstance(module, type(sys)):
            brought.append(_weakref.ref(module))
        module = None
        start.modules[name] = None
    start.modules.clear()
    names = vars(builtins)
    for name in list(names):
        if name not in start.builtins:
            del names[name]
    names.update(start.builtins)
    GC.collect()
    for alive in reversed(brought):
        module = alive()
        if module is not None:
            clear_module(vars(module))
        module = None
    streams = sys.__stdout__, sys.__stderr__
    sys.stdin = sys.stdout = sys.stderr = None
    for name in set(vars(sys)) - start.sys:
        vars(sys)[name] = None
    GC.collect()
    for stream in streams:
        try:
            stream.flush()
        except BaseException:
            pass
    if flush_c is not None:
        flush_c(None)
    del kept


def clear_module(names):
    for name in list(names):
        if name[:1] == '_' and name[1:2] != '_':
            names[name] = None
    for name in list(names):
        if name != '__builtins__' and not (name[:1] == '_' and name[1:2] != '_'):
            names[name] = None


def c_flush(start):
    """What C has buffered in this process, which only ctypes could have filled."""
    try:
        return start.modules['ctypes'].CDLL(None).fflush
    except BaseException:
        return None


def report_unraisable(error, thing, message=None):
    try:
        sys.unraisablehook(UnraisableHookArgs((type(error), error, error.__traceback__, message, thing)))
    except BaseException:
        pass


# Modules that an interpreter has, but not loaded


def borrowed(name):
    module = sys.modules.get(name)
    if module is None:
        module = __import__(name)
        del sys.modules[name]
    return module


def unraisable_type():
    """The type of what sys.unraisablehook is given, which has no name anywhere."""
    seen = []

    class Raises:
        def __del__(self):
            raise ValueError

    hook, sys.unraisablehook = sys.unraisablehook, seen.append
    try:
        Raises()
    finally:
        sys.unraisablehook = hook
    return type(seen.pop())


COLD_FINDERS = set(sys.path_importer_cache)
GC = borrowed('gc')
run_exit_functions_of_interpreter = borrowed('atexit')._run_exitfuncs if HAS_EXIT_FUNCTIONS_OF_INTERPRETER else None
UnraisableHookArgs = unraisable_type()


def hide(function):
    """
    Frames of it are shown to nobody: Python takes one for not yet begun until its RESUME (`_PyFrame_IsIncomplete` in
    pycore_frame.h), and this has none. Elsewhere its file is named so that warnings and logging look past it.
    """
    code = function.__code__.replace(co_filename='<frozen importlib._bootstrap>')
    resume, nothing = RESUME_AND_NOP.get(sys.version_info[:2], (None, None))
    place = 2 * code.co_code[::2].find(resume) if resume else -1
    if place >= 0:
        code = code.replace(co_code=code.co_code[:place] + bytes((nothing,)) + code.co_code[place + 1 :])
    function.__code__ = code


# All that something of a program's is called by.
for function in (
    become,
    end_of_main,
    status_of,
    say_on_stderr,
    show_uncaught,
    finish_program,
    is_left_simple,
    is_coroutine,
    WithoutUs.__call__,
    end_threads,
    run_exit_functions,
    flush_streams,
    is_closed,
    tear_down,
    clear_module,
    report_unraisable,
):
    hide(function)
del function
