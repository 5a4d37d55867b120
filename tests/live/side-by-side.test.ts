/** What drivers promise about programs of one sandbox that run at the same time. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { follow, openGuest, run, start } from '../support/guests.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';

const SERVER = `
import socket
listener = socket.create_server(('127.0.0.1', 8123))
print('listening', flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(b'served')
    connection.close()`;

const CLIENT = `
import socket
try: print(socket.create_connection(('127.0.0.1', 8123), 5).recv(10).decode())
except OSError as problem: print(type(problem).__name__)`;

const ALLOCATE = `
kept = []
for _ in range(20): kept.append(bytearray(16 * 1024 * 1024))
print('allocated')`;

const FORK = `
import os, time
children = []
try:
    for _ in range(40):
        pid = os.fork()
        if pid == 0: time.sleep(60)
        children.append(pid)
except OSError: print('refused after', len(children))
else: print('forked')
for pid in children: os.kill(pid, 9)`;

describeMissing('programs side by side');

describe.each(TARGETS)('programs side by side: $name', ({ runtime, capabilities }) => {
  it('share a loopback where the sandbox says so, and only there', async () => {
    const guest = await openGuest(runtime);
    const other = await openGuest(runtime);
    const server = await start(guest, 'python', SERVER);
    await follow(server).until('listening');
    const expected = guest.sharesLoopback ? 'served' : 'ConnectionRefusedError';
    expect((await run(guest, 'python', CLIENT)).stdout.trim()).toBe(expected);
    if (capabilities.isolation !== 'process') {
      expect((await run(other, 'python', CLIENT)).stdout.trim()).toBe('ConnectionRefusedError');
    }
    await server.kill('SIGKILL');
  });

  it('are not ended by the end of another one', async () => {
    const guest = await openGuest(runtime);
    const lasting = await start(guest, 'shell', 'echo here; exec sleep 100');
    await follow(lasting).until('here');
    let ended = false;
    void lasting.exit.then(() => {
      ended = true;
    });
    expect((await run(guest, 'shell', 'echo short')).stdout).toBe('short\n');
    const killed = await start(guest, 'shell', 'echo here; exec sleep 100');
    await follow(killed).until('here');
    await killed.kill('SIGKILL');
    expect((await killed.exit).code).toBe(137);
    await delay(50);
    expect(ended).toBe(false);
    await guest.destroy();
    expect((await lasting.exit).code).toBeGreaterThan(128);
  });

  it.runIf(capabilities.limits.memoryMb === 'cgroup' || capabilities.limits.memoryMb === 'engine')(
    'are each held to the memory that was given to them',
    async () => {
      const guest = await openGuest(runtime, { limits: { memoryMb: 512, diskMb: 8 } });
      const tight = await run(guest, 'python', ALLOCATE, { limits: { memoryMb: 64 } });
      expect(tight).toMatchObject({ stdout: '', outOfMemory: true, code: 137 });
      expect((await run(guest, 'python', ALLOCATE)).stdout).toBe('allocated\n');
    },
  );

  it.runIf(capabilities.limits.processes !== 'none')(
    'are each held to the processes that were given to them',
    async () => {
      const guest = await openGuest(runtime);
      const tight = await run(guest, 'python', FORK, { limits: { processes: 16 } });
      expect(tight.stdout).toMatch(/^refused after \d+\n$/);
      expect((await run(guest, 'python', FORK)).stdout).toBe('forked\n');
    },
  );

  it('get an interrupt with all that they started', async () => {
    const guest = await openGuest(runtime);
    // What the shell waits for says it: in a shell that is about to start it, an interrupt waits until that has ended.
    const shell = await start(
      guest,
      'shell',
      'trap "echo caught; exit 3" INT; sh -c "echo here; exec sleep 100"; echo after',
    );
    const said = follow(shell);
    await said.until('here');
    await shell.kill('SIGINT');
    await said.until('caught');
    expect((await shell.exit).code).toBe(3);
  });
});
