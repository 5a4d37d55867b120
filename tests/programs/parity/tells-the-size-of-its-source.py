import hashlib

with open(__file__, "rb") as file:
    source = file.read()
print(len(source), hashlib.sha256(source).hexdigest())
