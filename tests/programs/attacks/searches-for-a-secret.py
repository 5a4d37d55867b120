wanted = os.environ['WANTED'].encode()[::-1]
found, names = [], []
for top in ('/etc', '/workspace', '/tmp', '/dev', '/root', '/home', '/run', '/mnt', '/srv', '/media', '/opt', '/var', '/proc/1', '/proc/self', '/proc/sys/kernel/random'):
    for folder, folders, files in os.walk(top):
        if folder.startswith(sys.prefix): continue
        for name in files:
            path = os.path.join(folder, name)
            if name.startswith(('arguments-', 'seccomp')) and not folder.startswith('/proc'): names.append(path)
            try:
                if os.path.isfile(path) and '/task/' not in path and name not in ('pagemap', 'mem', 'clear_refs') and wanted in open(path, 'rb').read(1 << 20): found.append(path)
            except (OSError, ValueError): pass
print(json.dumps({'found': found, 'names': names}))
