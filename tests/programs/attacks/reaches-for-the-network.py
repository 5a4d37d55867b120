port, abstract = int(os.environ['PORT']), os.environ['ABSTRACT']
def tcp(host, to): socket.create_connection((host, to), timeout=2).close()
def unix(path):
    with socket.socket(socket.AF_UNIX) as client: client.settimeout(2); client.connect(path)
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client: client.sendto(b'x', ('192.0.2.1', 53))
print(json.dumps({'interfaces': [name for _, name in socket.if_nameindex()],
  'routes': [line for line in open('/proc/net/route').read().split('\n')[1:] if line],
  'host port': attempt(lambda: tcp('127.0.0.1', port)), 'host port 6': attempt(lambda: tcp('::ffff:127.0.0.1', port)),
  'outside': attempt(lambda: tcp('192.0.2.1', 80)), 'udp': attempt(udp), 'name': attempt(lambda: socket.getaddrinfo('example.org', 80)),
  'abstract': attempt(lambda: unix('\0' + abstract)), 'abstract padded': attempt(lambda: unix(('\0' + abstract).ljust(108, '\0'))), 'visible': abstract in open('/proc/net/unix').read(),
  'sockets': [path for path in ('/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/notify', '/dev/log') if attempt(lambda: unix(path)) == 'ok']}))
