import os
import sys

print(os.getcwd(), __file__, sys.argv[0], sys.path[0])
for folder, folders, names in os.walk("."):
    folders.sort()
    print(folder, folders, sorted(names))
print(oct(os.umask(0o22)))
