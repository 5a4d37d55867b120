import signal
victims = [int(pid) for pid in os.environ['VICTIMS'].split(',')]
seen = [int(pid) for pid in os.listdir('/proc') if pid.isdigit()]
remote = (ctypes.c_ulong * 2)(0, 8)
answers = {}
for pid in victims:
    answers[f'kill {pid}'] = attempt(lambda: os.kill(pid, 0))
    answers[f'killpg {pid}'] = attempt(lambda: os.killpg(pid, 0))
    answers[f'pidfd {pid}'] = syscall(434, pid, 0)
    answers[f'priority {pid}'] = attempt(lambda: os.setpriority(os.PRIO_PROCESS, pid, 5))
    answers[f'status {pid}'] = attempt(lambda: open(f'/proc/{pid}/status').read())
    answers[f'environ {pid}'] = attempt(lambda: open(f'/proc/{pid}/environ').read())
    answers[f'affinity {pid}'] = attempt(lambda: os.sched_getaffinity(pid))
print(json.dumps({'seen': len(seen), 'highest': max(seen), 'ok': [what for what, said in answers.items() if said == 'ok']}))
