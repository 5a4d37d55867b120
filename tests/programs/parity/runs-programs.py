import subprocess

done = subprocess.run(["sh", "-c", "cat; echo err >&2; exit 3"], input="in\n", capture_output=True, text=True)
print(done.returncode, repr(done.stdout), repr(done.stderr))
killed = subprocess.run(["sh", "-c", "kill -9 $$"])
print(killed.returncode)
try:
    subprocess.run(["no-such-program"])
except FileNotFoundError as error:
    print(error, flush=True)
subprocess.run(["sh", "-c", "echo straight through; echo complaint >&2"])
