import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LiveSandbox } from '../../src/operations/liveSandbox.ts';
import { describeMissing } from '../support/targets.ts';
import { answer, HELD, isByEngine, isWarm, open, probe, program, whileRunning } from './support.ts';

describe.each(HELD)('neighbours: $name', (target) => {
  let sandbox: LiveSandbox;
  beforeAll(async () => {
    sandbox = await open(target);
  });
  afterAll(() => sandbox.close());

  const LEAVE = program('leaves-and-finds.py');

  it('12. nothing passes to another sandbox, side by side or afterwards', async () => {
    const first = await open(target);
    let besides: unknown;
    let left: Record<string, string> = {};
    try {
      await using second = await open(target);
      const result = await whileRunning(
        first,
        `${LEAVE}\nprint(json.dumps({'left': leave(), 'found': find()}), flush=True)`,
        async () => {
          besides = await probe(second, `${LEAVE}\nprint(json.dumps(find()))`);
        },
      );
      const said = JSON.parse(result.stdout.split('\n')[0] ?? '') as {
        left: Record<string, string>;
        found: string[];
      };
      left = said.left;
      // Control: it did leave them, and the same search finds them where they are.
      expect(said.found).toEqual(
        expect.arrayContaining([
          '/tmp/left',
          '/dev/shm/left',
          '/workspace/left',
          'shm',
          'sem',
          'msg',
          'mq',
          'abstract',
        ]),
      );
    } finally {
      await first.close();
    }
    expect(left['key']).toMatch(target.capabilities.seccomp ? /^EPERM$/ : /^E(PERM|NOSYS|ACCES)$/);
    expect(besides).toEqual([]);
    await using afterwards = await open(target);
    expect(await probe(afterwards, `${LEAVE}\nprint(json.dumps(find()))`)).toEqual([]);
  });

  it('12. IPC objects, sockets and keys do not even last from one run to the next', async () => {
    await using lasting = await open(target);
    await probe(lasting, `${LEAVE}\nprint(json.dumps(leave()))`);
    const found = await probe<string[]>(lasting, `${LEAVE}\nprint(json.dumps(find()))`);
    // Its files last: that is what a live sandbox is for. No warm guest lives on.
    const files = isWarm(target)
      ? []
      : ['/tmp/left', '/dev/shm/left', '/workspace/left', '/workspace/.profile'];
    // An engine gives each program a container, and so a /dev/shm, of its own.
    expect(found).toEqual(isByEngine(target) ? files.filter((path) => !path.startsWith('/dev/shm/')) : files);
  });

  it('3. what the host and other sandboxes open and start is not seen through notifications', async () => {
    const code = `
import select
fd = libc.inotify_init1(0o4000)
for path in (b'/usr/bin', b'/workspace'):
    if fd >= 0: libc.inotify_add_watch(fd, path, 0x20)
print('ready', flush=True)
sys.stdin.read()
open('/workspace/own', 'w').close()
seen = b''
while fd >= 0 and select.select([fd], [], [], 0)[0]: seen += os.read(fd, 65536)
print(json.dumps({'own': b'own' in seen, 'host': b'uptime' in seen}))`;
    const result = await whileRunning(sandbox, code, () => execFileSync('/usr/bin/uptime'));
    const seen = answer<{ own: boolean; host: boolean }>(result);
    // Control: where a folder can be watched at all, what happens in its own is told.
    expect(seen).toEqual({ own: expect.any(Boolean), host: false });
  });

  it('12. its host name is its own', async () => {
    const name = await probe(
      sandbox,
      'print(json.dumps([socket.gethostname(), call(libc.sethostname, b"x", 1)]))',
    );
    expect(name).toEqual(['glovebox', 'EPERM']);
  });
});

describeMissing('neighbours');
