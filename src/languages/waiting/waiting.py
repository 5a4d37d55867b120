

# Behind becomeMain.py in one file, it is a Python that waits for its program: started by the name of the program's file, it
# says that it is ready with one line on descriptor 1, and becomes the program that is in the file when the orders are there.
#
# Orders come on standard input: four bytes with their length, the highest first, then JSON, filled up to a block at least: with
# gVisor each system call takes long, and so one read is enough for most. What follows is the program's. Orders of no length
# are answered as the first time, so that whoever waits with it can go once through all that happens then.
BLOCK = 4096


def receive(orders_end, length):
    data = b''
    while len(data) < length:
        more = os.read(orders_end, length - len(data))
        if not more:
            # Whoever would have sent it has ended.
            os._exit(0)
        data += more
    return data


def receive_into(file, orders_end, length):
    while length > 0:
        part = receive(orders_end, min(length, 1 << 20))
        length -= len(part)
        while part:
            part = part[file.write(part) :]


def place_input(given, orders_end):
    path = given
    if isinstance(given, dict):
        # In a file, as the input of a program that starts cold.
        path = '/tmp/.stdin'
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), 'wb', 0) as file:
            receive_into(file, orders_end, given['bytes'])
    source = os.open(path, os.O_RDONLY)
    os.dup2(source, 0)
    os.close(source)
    os.unlink(path)


def import_quietly(names):
    """A module that says something, or cannot be imported, says so when the program imports it."""
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    for name in names:
        try:
            __import__(name)
        except BaseException:
            pass
    for descriptor, old in enumerate(kept, 1):
        os.dup2(old, descriptor)
        os.close(old)
    os.close(nothing)


def use_ctypes():
    """
    Hides how deep it stands, and lets its memory be held, so that it ends at once. Not every Python has what this takes: then
    the limit on recursion is higher, and the end slower.
    """
    try:
        import ctypes

        deepen(ctypes)
        holder_of(bytes.fromhex('__HOLDER__'), ctypes)()
    except Exception:
        pass


def receive_orders(orders_end, loads):
    while True:
        block = receive(orders_end, BLOCK)
        length = int.from_bytes(block[:4], 'big')
        if length:
            return loads((block + receive(orders_end, length + 4 - BLOCK))[4 : 4 + length])
        os.write(1, b'\6\n')


def receive_program(orders_end, loads):
    os.write(1, b'\6\n')
    orders = receive_orders(orders_end, loads)
    for path, length in orders.get('files', ()):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb', 0) as file:
            receive_into(file, orders_end, length)
    given = orders['stdin']
    if given is True:
        os.dup2(orders_end, 0)
    elif given:
        place_input(given, orders_end)
    os.close(orders_end)
    source = orders['code'].encode() if 'code' in orders else None
    return orders['argv'], orders['env'], source, bool(given)


def wait_for_orders(preload):
    # Most programs have this input: then nothing is to be done about it when the orders are there.
    orders_end = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if preload:
        import_quietly(preload)
    modules = set(sys.modules)
    finders = set(sys.path_importer_cache)
    import json

    use_ctypes()
    touch()
    json.loads(json.dumps({'text': ['x', 1, True, None]}))
    for folder in set(sys.path_importer_cache) - finders:
        del sys.path_importer_cache[folder]
    loads = json.loads
    become_main(sys.argv[0], lambda: receive_program(orders_end, loads), modules)


wait_for_orders(__MODULES__)
