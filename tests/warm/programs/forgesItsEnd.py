"""Writes what looks like the report of an end to whatever it can reach, tries to end or to read the process above it, and ends with 7."""
import os, signal

report = (0).to_bytes(4, 'little')
opened = []
for descriptor in range(256):
    try:
        os.write(descriptor, b'R' + report)
        opened.append(descriptor)
    except OSError:
        pass
reached = []
for name in ('mem', 'fd', 'environ', 'maps', 'root', 'cwd', 'exe', 'task/1/fd'):
    path = '/proc/1/' + name
    for attempt in (os.listdir, os.readlink, lambda path: os.close(os.open(path, os.O_RDWR)), lambda path: open(path).read()):
        try:
            attempt(path)
            reached.append(path)
        except (OSError, UnicodeDecodeError):
            pass
for number in range(64):
    for form in ('/proc/1/fd/%d', '/proc/1/fdinfo/%d'):
        try:
            os.write(os.open(form % number, os.O_WRONLY), report)
            reached.append(form % number)
        except OSError:
            pass
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
with open('/workspace/told', 'w') as file:
    file.write(repr((opened, reached)))
os._exit(7)
