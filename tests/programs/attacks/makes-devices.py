import stat
devices = []
for folder, folders, names in os.walk('/dev'):
    for name in names:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode): devices.append(path)
everywhere = [path for top in ('/workspace', '/tmp', '/etc') for folder, _, names in os.walk(top) for path in [os.path.join(folder, name) for name in names]
              if not os.path.islink(path) and (stat.S_ISCHR(os.lstat(path).st_mode) or stat.S_ISBLK(os.lstat(path).st_mode))]
made = {path: attempt(lambda: os.mknod(path, kind | 0o666, os.makedev(1, 3))) for kind in (stat.S_IFCHR, stat.S_IFBLK) for path in ('/workspace/d', '/tmp/d', '/dev/shm/d', '/dev/d')}
print(json.dumps({'devices': sorted(devices), 'elsewhere': everywhere, 'made': sorted(set(made.values())), 'null': attempt(lambda: open('/dev/null', 'wb').write(b'x')), 'random': len(open('/dev/urandom', 'rb').read(8)),
  'fifo': attempt(lambda: os.mkfifo('/workspace/fifo'))}))
