children = []
try:
    for _ in range(150):
        pid = os.fork()
        if pid == 0:
            time.sleep(30)
            os._exit(0)
        children.append(pid)
except OSError as error:
    pass
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
print(json.dumps(len(children)))
