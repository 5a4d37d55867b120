victim = os.environ['VICTIM']
answers = {}
for path in [victim, '/proc/1/root' + victim, '/etc/passwd', '/etc/hosts', '/usr/bin/evil', '/usr/lib/evil', '/evil', '/root/evil',
             '/dev/evil', '/etc/evil', '/lib/evil', sys.prefix + '/lib/evil.py', sys.executable, '/proc/evil', '/var/tmp/evil', '/home/evil', '/run/evil']:
    answers['write ' + path] = attempt(lambda: open(path, 'ab').close())
    answers['chmod ' + path] = attempt(lambda: os.chmod(path, 0o777))
    answers['link ' + path] = attempt(lambda: os.link(path, '/workspace/linked'))
    answers['link in ' + path] = attempt(lambda: os.link('/workspace/mine', os.path.dirname(path) + '/linked'))
    answers['rename ' + path] = attempt(lambda: os.rename('/workspace/mine', path))
    answers['unlink ' + path] = attempt(lambda: os.unlink(path))
print(json.dumps([what for what, said in answers.items() if said == 'ok']))
