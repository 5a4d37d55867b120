writable = []
for top in ('/proc/sys', '/sys', '/proc/irq', '/proc/bus', '/proc/fs', '/proc/acpi', '/proc/driver'):
    for folder, _, names in os.walk(top):
        for name in names:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                writable.append(os.path.join(folder, name))
            except OSError: pass
for name in ('sysrq-trigger', 'kcore', 'kmsg', 'kallsyms', 'timer_list', 'mtrr'):
    path = '/proc/' + name
    # Some engines put the null device in their place.
    if os.path.exists(path) and os.stat(path).st_rdev == os.stat('/dev/null').st_rdev: continue
    if attempt(lambda: os.close(os.open(path, os.O_WRONLY))) == 'ok': writable.append(name)
def write(path, text):
    with open(path, 'w') as file: file.write(text)
cgroups = [line for line in open('/proc/self/mounts') if line.split()[2].startswith('cgroup')]
print(json.dumps({'writable': writable, 'cgroup files': cgroups, 'writable cgroup files': [line for line in cgroups if 'rw' in line.split()[3].split(',')],
  'oom lower': attempt(lambda: write('/proc/self/oom_score_adj', '-500')), 'oom of 1': attempt(lambda: write('/proc/1/oom_score_adj', '-500')),
  'uid_map': attempt(lambda: write('/proc/self/uid_map', '0 0 1')), 'gid_map': attempt(lambda: write('/proc/1/gid_map', '0 0 1')), 'setgroups': attempt(lambda: write('/proc/self/setgroups', 'allow')),
  'loginuid': attempt(lambda: write('/proc/self/loginuid', '0')), 'attr': attempt(lambda: write('/proc/self/attr/current', 'unconfined')),
  'comm': attempt(lambda: write('/proc/self/comm', 'renamed')), 'sched': attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)),
  'realtime': attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))}))
