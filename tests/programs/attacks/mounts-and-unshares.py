def configure():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        # RTM_NEWLINK: a dummy interface.
        netlink.send(struct.pack('=IHHII', 32, 16, 0x605, 1, 0) + struct.pack('=BxHiII', 0, 0, 0, 0, 0))
        error = struct.unpack('=i', netlink.recv(4096)[16:20])[0]
        if error: raise OSError(-error, '')
print(json.dumps({
  'mount tmpfs': call(libc.mount, b'x', b'/tmp', b'tmpfs', 0, None),
  'mount bind': call(libc.mount, b'/', b'/tmp', None, 4096, None),
  'remount': call(libc.mount, b'x', b'/', None, 32 | 4096, None),
  'umount': call(libc.umount2, b'/workspace', 2),
  'pivot': syscall(155, b'/tmp', b'/tmp'), 'chroot': call(libc.chroot, b'/tmp'),
  'fsopen': syscall(430, b'tmpfs', 0), 'open_tree': syscall(428, -100, b'/', 1), 'move_mount': syscall(429, -100, b'/', -100, b'/tmp', 0),
  'mount_setattr': syscall(442, -100, b'/', 0, None, 0),
  **{f'unshare {flag:x}': child_of(272, flag) for flag in (NEWUSER, NEWNS, NEWNET, NEWPID, NEWTIME, NEWUSER | NEWNS, 0x8000000, 0x4000000, 0x2000000)},
  **{f'clone {flag:x}': child_of(56, flag | 17, 0, 0, 0, 0) for flag in (NEWUSER, NEWNS, NEWNET, NEWPID)},
  'clone3': child_of(435, ctypes.byref(CloneArguments(flags=NEWUSER, exit_signal=17)), 64),
  'setns': syscall(308, os.open('/proc/1/ns/user', os.O_RDONLY), 0) if os.access('/proc/1/ns/user', os.R_OK) else 'EACCES',
  'raw': raw(socket.AF_INET, socket.SOCK_RAW, 1), 'raw 6': raw(socket.AF_INET6, socket.SOCK_RAW, 58),
  'packet': raw(17, socket.SOCK_RAW, 0x300), 'packet dgram': raw(17, socket.SOCK_DGRAM, 0x300),
  'configure': attempt(configure),
}))
