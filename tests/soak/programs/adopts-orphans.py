"""
Runs a command and becomes the parent of whatever that orphans, at any depth: what is left of it is then known by
descent and not by name. Prints its pid, `ended` when it has ended, and for each line of input who is left.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    raise OSError(ctypes.get_errno(), "prctl")


def say(text):
    print(text, flush=True)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


def adopted():
    reap()
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except FileNotFoundError:
        return ""


child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
say(child.pid)
child.wait()
say("ended")
for _ in sys.stdin:
    say(json.dumps([f"{pid} {command(pid)}" for pid in adopted()]))
while left := adopted():
    for pid in left:
        os.kill(pid, signal.SIGKILL)
