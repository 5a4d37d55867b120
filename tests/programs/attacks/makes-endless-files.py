made = 0
def fill():
    global made
    for number in range(1000000):
        os.close(os.open(f'/workspace/{number}', os.O_CREAT | os.O_WRONLY)); made += 1
said = attempt(fill)
opened = []
def take():
    while True: opened.append(os.open('/dev/null', os.O_RDONLY))
print(json.dumps([said, made, attempt(take), len(opened) <= 1024]))
