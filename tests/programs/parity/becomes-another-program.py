import os

os.execvp("sh", ["sh", "-c", "echo $0 $1; exit 9", "became", "another"])
