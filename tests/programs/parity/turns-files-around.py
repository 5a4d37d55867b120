import os

for folder, _, names in os.walk("in"):
    for name in names:
        path = os.path.join(folder, name)
        goal = os.path.join("out", os.path.relpath(path, "in"))
        os.makedirs(os.path.dirname(goal), exist_ok=True)
        with open(path, "rb") as source, open(goal, "wb") as target:
            target.write(source.read()[::-1])
os.symlink("/etc/passwd", "out/link")
os.mkdir("out/folder")
