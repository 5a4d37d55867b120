/** What a program can do to the channel of its context, to its kernel and to us: lie about itself, and no more. */
import { describe, expect, it } from 'vitest';
import { LanguageContext } from '../../src/sandbox/context.ts';
import { TARGETS } from '../support/targets.ts';
import { isOfItsOwnKind, makeGuest, SAYINGS, shorthands, withContext } from './support.ts';

/** Finds the kernel's own objects, which nothing hides from a program in the same process. */
const FIND_KERNEL = `
import gc
channel = next(found for found in gc.get_objects() if type(found).__name__ == 'Channel')
`;

for (const target of TARGETS.filter(isOfItsOwnKind)) {
  describe(`${target.name}: a hostile program in a context`, () => {
    it('writes to every descriptor and is believed nothing', async () => {
      await withContext(target, 'python', async ({ run, print }) => {
        const outcome = await run(
          [
            'import os, random',
            'noise = random.Random(7)',
            'for descriptor in range(3, 1024):',
            '  for blocking in (False,):',
            '    try:',
            '      os.set_blocking(descriptor, blocking)',
            '      os.write(descriptor, b"\\x1e" + bytes(noise.randrange(256) for _ in range(500)))',
            '      os.set_blocking(descriptor, True)',
            '    except OSError: pass',
          ].join('\n'),
        );
        expect(outcome).toMatchObject({ outcome: 'exited', exitCode: 0, results: [] });
        expect(await print(SAYINGS.python.echo('still here'))).toBe('still here\n');
      });
    });

    it('forges frames of its own execution, which end that one and none after it', async () => {
      await withContext(target, 'python', async ({ run, print }) => {
        const forged = await run(
          `${FIND_KERNEL}
channel.send(b'r', {'type': 'result', 'text': 'forged', 'png': '!', 'extra': {'__proto__': 1}})
channel.send(b'd', {'exitCode': 'zero'})
channel.end_errors()
token = channel.token`,
        );
        expect(forged).toMatchObject({
          exitCode: 1,
          error: { name: 'MalformedAnswer' },
          results: [{ text: 'forged', notes: ['png was left out: it is not base64.'] }],
        });
        // With the token of before, what was a frame is output.
        const replayed = await run(
          'import os\nos.write(1, b"\\x1e" + token + b"d0002{}" + b"\\x1e" + token + b"r0002{}")\nprint("end")',
        );
        expect(replayed.outcome).toBe('exited');
        expect(replayed.results).toEqual([]);
        expect(replayed.stdout.text).toContain('end\n');
        expect(await print(SAYINGS.python.echo('still here'))).toBe('still here\n');
      });
    });

    it('says that it is done and goes on: the next cell waits for it, and its time is over', async () => {
      await withContext(target, 'python', async ({ context, run }) => {
        await run(
          `${FIND_KERNEL}
import signal, time
channel.send(b'd', {'exitCode': 0})
channel.end_errors()
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: time.sleep(1)`,
        );
        expect(await run('1', { timeoutSec: 1 })).toMatchObject({ outcome: 'timed_out' });
        expect(context.ended).toMatch(/did not stop/);
      });
    });

    it('floods with results and with endless messages, and the room for them is all that it gets', async () => {
      await withContext(target, 'python', async ({ run, print }) => {
        const before = process.memoryUsage().rss;
        const outcome = await run(
          `${FIND_KERNEL}
for i in range(20_000): channel.send(b'r', {'type': 'display', 'text': str(i)})
part = b'\\x1e' + channel.token + b'c0fa0' + b'x' * 4000
for i in range(5000): channel.write(channel.out, part)`,
          { maxResultBytes: 1024 * 1024, timeoutSec: 60 },
        );
        expect(outcome.results).toHaveLength(1024);
        // What stood in the endless message was its end, too.
        expect(outcome).toMatchObject({ outcome: 'exited', error: { name: 'MalformedAnswer' } });
        expect(outcome.resultsLeftOut).toBe(20_000 - 1024);
        expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
        expect(await print(SAYINGS.python.echo('still here'))).toBe('still here\n');
      });
    });

    it('closes the channel, and the context says that it has ended', async () => {
      await withContext(target, 'python', async ({ context, run }) => {
        const outcome = await run('import os\nos.closerange(3, 1024)');
        expect(outcome.ended).toMatch(/Its program ended with/);
        await expect(run('1')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
        expect(context.ended).toBe(outcome.ended);
      });
    });

    it('closes its own descriptors, and the next cell has them again', async () => {
      await withContext(target, 'python', async ({ run, print }) => {
        expect((await run('import os, sys\nsys.stdout.close()\nos.closerange(0, 3)')).exitCode).toBe(0);
        expect(await print('print(1); print(repr(sys.stdin.read()))')).toBe("1\n''\n");
      });
    });

    it('gives a huge value, of which the beginning and the end come', async () => {
      await withContext(target, 'python', async ({ run }) => {
        const { results, exitCode } = await run('"x" * 50_000_000');
        expect(exitCode).toBe(0);
        expect(results).toHaveLength(1);
        expect(results[0]?.text?.length).toBeLessThan(101_000);
        expect(results[0]?.text).toContain('characters left out');
        const image = await run(
          'class Image:\n  def _repr_png_(self): return b"x" * 9_000_000\n  def __repr__(self): return "image"\nImage()',
        );
        expect(image.results).toEqual([
          {
            type: 'result',
            text: 'image',
            notes: [expect.stringMatching(/^png was left out: it has 12000002 bytes, and 8388608 are left/)],
          },
        ]);
      });
    });

    it('forks until it cannot, and the context goes on or says why not', async () => {
      await withContext(
        target,
        'python',
        async ({ run, context }) => {
          const outcome = await run('import os\nwhile True: os.fork()', { timeoutSec: 3 });
          expect(outcome.outcome).toMatch(/exited|timed_out/);
          expect(outcome.exitCode).not.toBe(0);
          if (context.ended === undefined) expect((await run('x = 1')).executionCount).toBe(2);
        },
        { processes: 30 },
      );
    });
  });

  if (target.capabilities.limits.memoryMb === 'cgroup' || target.capabilities.limits.memoryMb === 'engine') {
    it(`${target.name}: a context that needs too much memory ends, and says so`, async () => {
      await withContext(
        target,
        'python',
        async ({ run }) => {
          const outcome = await run(
            'print("before")\nhuge = bytearray(10 ** 9)\nhuge[::4096] = b"x" * len(huge[::4096])',
          );
          expect(outcome).toMatchObject({ outcome: 'out_of_memory', exitCode: 137, killedBy: 'memory' });
          expect(outcome.stdout.text).toBe('before\n');
          expect(outcome.ended).toMatch(/memory/);
        },
        { memoryMb: 128 },
      );
    });
  }
}

describe('what the caller gives', () => {
  const [target] = TARGETS.filter(isOfItsOwnKind);
  if (target === undefined) throw new Error('A plain process works everywhere.');

  it('an `onOutput` that throws ends the cell and not the context', async () => {
    await withContext(target, 'python', async ({ run, print }) => {
      await run('x = 1');
      const refused = run('import time\nprint("a")\ntime.sleep(100)', {
        onOutput: () => {
          throw new Error('full');
        },
      });
      await expect(refused).rejects.toThrow('full');
      expect(await print('print(x)')).toBe('1\n');
    });
  });

  it('a language that is not there is refused, and a kernel that cannot start says why', async () => {
    const guest = await makeGuest(target);
    try {
      const broken = LanguageContext.create(guest, { language: 'python', env: { PYTHONHOME: '/nowhere' } });
      await expect(broken).rejects.toMatchObject({
        code: 'SANDBOX_FAILED',
        message: expect.stringMatching(
          /The python context did not start: Its program ended with 1\..*encodings/s,
        ),
      });
    } finally {
      await guest.destroy();
    }
  });

  it('a signal that comes while the kernel starts ends the start', async () => {
    const guest = await makeGuest(target);
    try {
      await expect(
        LanguageContext.create(guest, { language: 'python', signal: AbortSignal.abort(new Error('enough')) }),
      ).rejects.toThrow('enough');
      const giveUp = new AbortController();
      const starting = LanguageContext.create(guest, { language: 'javascript', signal: giveUp.signal });
      setTimeout(() => giveUp.abort(new Error('enough')), 20);
      await expect(starting).rejects.toThrow('enough');
    } finally {
      await guest.destroy();
    }
  });

  it('what comes between two cells stands before the next one', async () => {
    await withContext(target, 'shell', async ({ context, run, print }) => {
      await run('(sleep 0.2; echo late) & ');
      expect(await print('wait; echo now')).toBe('late\nnow\n');
      await run('{ sleep 0.1; echo between; touch done; } &');
      expect(await print('while [ ! -e done ]; do sleep 0.05; done')).toBe('between\n');
      await context.close();
    });
  });

  it('closing waits for what a program leaves unwritten, and interrupts what runs', async () => {
    const guest = await makeGuest(target);
    try {
      const context = await LanguageContext.create(guest, { language: 'python' });
      await shorthands(context).run('kept = open("kept.txt", "w"); kept.write("written"); None');
      await context.close();
      expect(Buffer.from(await guest.readFile('kept.txt', 100)).toString()).toBe('written');
      const other = await LanguageContext.create(guest, { language: 'python' });
      const running = shorthands(other).run(SAYINGS.python.hang, { onOutput: () => void other.close() });
      expect(await running).toMatchObject({ outcome: 'killed', ended: 'It was closed.' });
    } finally {
      await guest.destroy();
    }
  });
});
