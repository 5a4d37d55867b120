import glob, shutil, subprocess
suid = [path for path in glob.glob('/usr/bin/*') + glob.glob('/usr/sbin/*')
        if os.path.isfile(path) and not os.path.islink(path) and os.stat(path).st_mode & 0o6000]
def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    return done.returncode, done.stdout
shutil.copy('/usr/bin/id', '/workspace/id'); os.chmod('/workspace/id', 0o6755)
mounts = [(line.split()[1], line.split()[3].split(',')) for line in open('/proc/self/mounts')]
not_nosuid = [(where, options) for where, options in mounts if 'nosuid' not in options]
print(json.dumps({
  'suid': len(suid), 'not nosuid': [where for where, _ in not_nosuid], 'uid': os.getuid(),
  'writable, not nosuid': [where for where, options in not_nosuid if 'rw' in options],
  'su': run('su', '-c', 'id')[0] if os.path.exists('/usr/bin/su') else 1,
  'mount': run('mount', '-t', 'tmpfs', 'x', '/tmp')[0] if os.path.exists('/usr/bin/mount') else 1,
  'own': run('/workspace/id', '-u'),
}))
