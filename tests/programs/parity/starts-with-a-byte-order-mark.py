print("after the mark: ü")
