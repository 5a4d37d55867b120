print("taking", flush=True)
taken = []
while True:
    taken.append(b"x" * (1 << 20))
