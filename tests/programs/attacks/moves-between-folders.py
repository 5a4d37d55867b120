open('/workspace/a', 'w').close()
os.makedirs('/workspace/folder', exist_ok=True)
print(json.dumps({
  'link to tmp': attempt(lambda: os.link('/workspace/a', '/tmp/a')),
  'rename to tmp': attempt(lambda: os.rename('/workspace/folder', '/tmp/folder')),
  'link passwd': attempt(lambda: os.link('/etc/passwd', '/workspace/passwd')),
  'rename workspace': attempt(lambda: os.rename('/workspace', '/tmp/w')),
  'remove workspace': attempt(lambda: os.rmdir('/workspace')),
  'exchange': syscall(316, -100, b'/workspace/folder', -100, b'/tmp', 2),
  'inside': attempt(lambda: os.rename('/workspace/folder', '/workspace/other')),
}))
