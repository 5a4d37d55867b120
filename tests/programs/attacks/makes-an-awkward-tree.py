import os
os.chdir(os.environ['HOME'])
deep = os.open('.', os.O_RDONLY)
for _ in range(int(os.environ['DEPTH'])):
    os.mkdir('d', 0o755, dir_fd=deep)
    next_one = os.open('d', os.O_RDONLY, dir_fd=deep); os.close(deep); deep = next_one
os.close(os.open('at the bottom', os.O_CREAT | os.O_WRONLY, dir_fd=deep))
os.mkdir('many')
for number in range(int(os.environ['MANY'])): os.close(os.open(f'many/{number}', os.O_CREAT | os.O_WRONLY))
for name in (b'new\nline', b'\xff\xfe invalid', b'x' * 255, b'-rf', b'~', b'$(id)', b' ', b'...', '\u202etxt'.encode(), b'\x01'):
    os.mkdir(b'folder ' [:max(0, min(7, 255 - len(name)))] + name); open(b'f' + name[:254], 'w').close()
os.symlink('/etc', 'link to a folder'); os.symlink('/etc/passwd', 'link to a file'); os.symlink('nowhere', 'dangling')
os.mkfifo('fifo')
os.makedirs('locked/inner/innermost'); open('locked/inner/file', 'w').close()
os.chmod('locked/inner/innermost', 0); os.chmod('locked/inner', 0); os.chmod('locked', 0)
os.chmod('d', 0)
os.chmod(os.environ['TMPDIR'], 0)
os.chmod('.', 0)
print('made')
