print("never")
print("café")
