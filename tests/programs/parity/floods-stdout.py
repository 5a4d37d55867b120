for number in range(20_000):
    print(f"line {number:06}")
