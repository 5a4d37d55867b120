import atexit

atexit.register(print, "last")
try:
    raise SystemExit(2)
finally:
    print("first")
