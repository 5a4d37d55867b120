for number in range(200_000):
    print(f"line {number:06}")
