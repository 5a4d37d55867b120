print("no line end")
print("after it")