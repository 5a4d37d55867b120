print("first")
if True:
    print("""a
b""")
print("last")
