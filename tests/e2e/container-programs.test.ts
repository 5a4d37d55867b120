/** What a driver of containers does for one program and not for the others: an interrupt, and limits of its own. */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { relayWish } from '../../src/egress/relayChannel.ts';
import type { Command, Exit, Guest, GuestProcess, SandboxSpec } from '../../src/runtimes/runtime.ts';
import { describeMissing, TARGETS, type Target } from '../support/targets.ts';

const ENGINES = TARGETS.filter(({ name }) => name.startsWith('docker'));

async function open({ runtime }: Target, more: Partial<SandboxSpec> = {}): Promise<Guest> {
  const limit = (value: number) => ({ value, default: true });
  const guest = await runtime.create({
    id: randomBytes(6).toString('hex'),
    policy: {
      network: 'none',
      networkIsDefault: true,
      limits: { memoryMb: limit(256), diskMb: limit(16), processes: limit(20), timeoutSec: limit(30) },
      requires: {},
    },
    languages: [],
    ...more,
  });
  onTestFinished(() => guest.destroy());
  return guest;
}

function start(guest: Guest, argv: Command['argv'], more: Partial<Command> = {}): Promise<GuestProcess> {
  return guest.spawn({ argv, env: { ...guest.environment }, ...more });
}

interface Interrupted {
  readonly said: string;
  readonly complained: string;
  readonly exit: Exit;
}

/** Interrupts a program as soon as it says so, and tells how it ended. */
async function interrupted(program: GuestProcess): Promise<Interrupted> {
  const complained = text(program.stderr);
  let said = '';
  let sent: Promise<void> | undefined;
  for await (const chunk of program.stdout) {
    said += Buffer.from(chunk).toString();
    if (said.startsWith('now\n')) sent ??= program.kill('SIGINT');
  }
  await sent;
  return { said, complained: await complained, exit: await program.exit };
}

for (const target of ENGINES) {
  const ownKernel = target.capabilities.isolation === 'kernel';

  describe(`an interrupt in ${target.name}`, () => {
    it('ends a shell together with what it waits for', async () => {
      const guest = await open(target);
      const plain = await start(guest, ['sh', '-c', 'echo now; sleep 100; echo after']);
      expect(await interrupted(plain)).toMatchObject({ said: 'now\n', exit: { code: 130 } });
      // The shell hears of it by itself, but says so only when what it waits for is over, or is about to be started.
      const heeded = await start(guest, [
        'sh',
        '-c',
        'trap "echo heard; exit 7" INT; sh -c "echo now; exec sleep 100"',
      ]);
      expect(await interrupted(heeded)).toMatchObject({ said: 'now\nheard\n', exit: { code: 7 } });
    });

    it('is a KeyboardInterrupt in Python, and in what that has started, in whatever session', async () => {
      const child = `import sys, time
try: print("here", flush=True); time.sleep(100)
except KeyboardInterrupt: print("child", flush=True)`;
      const parent = `import subprocess, sys
started = [subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, start_new_session=own)
    for own in (False, True)]
for one in started: one.stdout.readline()
try: print("now", flush=True); started[0].wait()
except KeyboardInterrupt: print(*[one.stdout.read().decode().strip() for one in started], "parent", flush=True)`;
      const program = await start(await open(target), ['python3', '-c', parent, child]);
      expect(await interrupted(program)).toMatchObject({
        said: 'now\nchild child parent\n',
        exit: { code: 0 },
      });
    });

    it('leaves a program that goes on as it was, with its way out', async () => {
      const wish = relayWish({
        port: 3128,
        onConnection: (connection) => connection.on('error', () => {}).end('answered\n'),
      });
      const program = await start(await open(target, { singleUse: true, relay: wish }), [
        'python3',
        '-c',
        `import socket, time
try: print("now", flush=True); time.sleep(100)
except KeyboardInterrupt: pass
print(socket.create_connection(("127.0.0.1", 3128), timeout=5).makefile().read().strip())`,
      ]);
      expect(await interrupted(program)).toMatchObject({ said: 'now\nanswered\n', exit: { code: 0 } });
    });

    it('reaches a program that has used up its processes', async () => {
      const code = `import os, time
try:
    try:
        while os.fork(): pass
        time.sleep(100)
    except OSError: print("now", flush=True); time.sleep(100)
except KeyboardInterrupt: os._exit(3)`;
      const program = await start(await open(target), ['python3', '-c', code]);
      expect(await interrupted(program)).toMatchObject({ said: 'now\n', exit: { code: 3 } });
    });

    it('of a program that has ended is nothing', async () => {
      const guest = await open(target);
      const program = await start(guest, ['true']);
      await program.exit;
      await program.kill('SIGINT');
    });
  });

  describe.each([false, true])(`limits of one program in ${target.name}, single use %s`, (singleUse) => {
    const TAKES = 'import sys; taken = bytearray(b"x") * (int(sys.argv[1]) * 1024 * 1024); print("took it")';
    const FORKS = `import os, signal, time
children = []
try:
    while True:
        child = os.fork()
        if child == 0: time.sleep(100); os._exit(0)
        children.append(child)
except OSError: print(len(children), flush=True)
for child in children: os.kill(child, signal.SIGKILL)`;

    async function run(guest: Guest, argv: Command['argv'], more: Partial<Command> = {}) {
      const { stdout, stderr, exit } = await start(guest, argv, more);
      const [said] = await Promise.all([text(stdout), text(stderr)]);
      return { said, ...(await exit) };
    }

    /** A sandbox for each program where it is for a single use, and one for both otherwise. */
    async function inTurn(...programs: [Command['argv'], Partial<Command>?][]) {
      const shared = singleUse ? undefined : await open(target);
      const results = [];
      for (const [argv, more] of programs) {
        results.push(await run(shared ?? (await open(target, { singleUse })), argv, more));
      }
      return results;
    }

    it('hold its memory, and not that of the next one', async () => {
      const takes = ['python3', '-c', TAKES, '128'] as const;
      const [held, free] = await inTurn([takes, { limits: { memoryMb: 64 } }], [takes]);
      expect(held?.said).toBe('');
      expect(held?.code).not.toBe(0);
      expect(free).toMatchObject({ said: 'took it\n', code: 0 });
    });

    it('hold its processes, and not those of the next one', async () => {
      const forks = ['python3', '-c', FORKS] as const;
      const [held, free] = await inTurn([forks, { limits: { processes: 8 } }], [forks]);
      expect(Number(held?.said)).toBeGreaterThan(3);
      expect(Number(held?.said)).toBeLessThan(8);
      // As many as the others leave: an init, and the program itself.
      expect(Number(free?.said)).toBeGreaterThan(ownKernel ? 15 : 17);
      expect(Number(free?.said)).toBeLessThan(20);
    });

    it('are refused where a container could not start with them, and nothing runs', async () => {
      const guest = await open(target, { singleUse });
      const spawning = start(guest, ['true'], { limits: { processes: 3 } });
      await expect(spawning).rejects.toMatchObject({ code: 'POLICY_NOT_ENFORCEABLE' });
    });
  });
}

describeMissing('a program of a container');
