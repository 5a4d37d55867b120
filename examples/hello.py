import platform

print(f"Hello from Python {platform.python_version()} inside a Glovebox!")
