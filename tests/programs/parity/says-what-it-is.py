import sys

print(sys.version_info[:3], sys.flags.isolated, sys.stdout.encoding, sys.stdin.isatty(), sys.getfilesystemencoding())
