import os

for name, value in sorted(os.environ.items()):
    if name != "PATH":
        print(f"{name}={value!r}")
