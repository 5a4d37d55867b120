print("did not read")
