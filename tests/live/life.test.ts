/** What a live sandbox keeps, in which order it does things, and how and why it ends. */
import { describe, expect, it } from 'vitest';
import { SandboxManager } from '../../src/index.ts';
import { describeMissing } from '../support/targets.ts';
import { EACH_KIND, expectNothingLeft, open, scratch } from './support.ts';

describe.each(EACH_KIND)('a live sandbox: $name', (target) => {
  it('keeps its files between code and commands of any language, and nothing else', async () => {
    await using sandbox = await open(target, { env: { GREETING: 'hello' } });
    await sandbox.execute("open('n.txt', 'w').write('1')\nx = 1");
    const command = await sandbox.exec(['sh', '-c', 'cat n.txt; echo " $GREETING $1"', 'sh', 'a  b']);
    expect(command).toMatchObject({ ok: true, stdout: '1 hello a  b\n', meta: { language: null } });
    const code = await sandbox.execute('print("x" in globals(), open("n.txt").read())');
    expect(code.stdout).toBe('False 1\n');
    const own = await sandbox.exec(['sh', '-c', 'echo $GREETING; exit 3'], { env: { GREETING: 'bye' } });
    expect(own).toMatchObject({ outcome: 'exited', exitCode: 3, stdout: 'bye\n' });
    expect(await sandbox.exec(['no-such-program'])).toMatchObject({ outcome: 'exited', exitCode: 127 });
  });

  it('runs what was asked for at once one after another, in that order', async () => {
    await using sandbox = await open(target);
    const append = (n: number) => `
import os, time
text = open('log').read() if os.path.exists('log') else ''
time.sleep(${n % 2 === 0 ? 0.05 : 0})
open('log', 'w').write(text + '${n} ')`;
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        n % 3 === 2 ? sandbox.exec(['sh', '-c', `printf '${n} ' >>log`]) : sandbox.execute(append(n)),
      ),
    );
    expect(results.map(({ ok, stderr }) => ({ ok, stderr }))).toEqual(
      results.map(() => ({ ok: true, stderr: '' })),
    );
    expect(await sandbox.readFile('log')).toMatchObject({ content: '0 1 2 3 4 5 ' });
  });

  it('gives up what still waits as soon as it is cancelled', async () => {
    await using sandbox = await open(target);
    const cancel = new AbortController();
    const first = sandbox.exec(['sh', '-c', 'echo begun; while [ ! -e go ]; do sleep 0.05; done'], {
      onOutput: () => cancel.abort(),
    });
    const second = await sandbox.exec(['sh', '-c', 'echo ran >second'], { signal: cancel.signal });
    expect(second).toMatchObject({ outcome: 'cancelled', exitCode: 130 });
    await sandbox.writeFile('go', '');
    expect((await first).ok).toBe(true);
    expect((await sandbox.listFiles()).files.map(({ name }) => name)).not.toContain('second');
  });

  it('expires: what runs is ended and says by what, and every later call says why', async () => {
    await using sandbox = await open(target, { lifetime: 3 });
    expect(Date.parse(sandbox.expiresAt) - Date.parse(sandbox.createdAt)).toBe(3000);
    const background = await sandbox.start([
      'sh',
      '-c',
      'trap "echo bye; exit 0" TERM; while :; do sleep 0.05; done',
    ]);
    const result = await sandbox.exec(['sh', '-c', 'echo begun; exec sleep 100'], { timeout: 50 });
    expect(result).toMatchObject({
      outcome: 'killed',
      ok: false,
      exitCode: 143,
      stdout: 'begun\n',
      timedOut: false,
      meta: {
        killedBy: 'lifetime',
        signal: 15,
        warnings: expect.arrayContaining([expect.stringContaining('3 s')]),
      },
    });
    // It had the time to leave in good order, and was ended all the same.
    expect(await background.wait()).toMatchObject({
      outcome: 'killed',
      stdout: 'bye\n',
      meta: { killedBy: 'lifetime' },
    });
    expect(await sandbox.whenEnded).toMatchObject({
      reason: 'expired',
      message: 'Its lifetime of 3 s was over.',
    });
    for (const call of [
      sandbox.exec(['true']),
      sandbox.readFile('a'),
      sandbox.listFiles(),
      sandbox.start(['true']),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'SANDBOX_CLOSED', details: { reason: 'expired' } });
    }
    expect(() => sandbox.output(result.meta.executionId)).toThrow(
      expect.objectContaining({ code: 'SANDBOX_CLOSED' }),
    );
  });

  it('ends when nobody uses it, and not while somebody does', async () => {
    await using sandbox = await open(target, { idleTimeout: 1.5 });
    // Longer than that, on every runtime.
    expect((await sandbox.exec(['sleep', '2.5'])).ok).toBe(true);
    expect(sandbox.ended).toBeUndefined();
    expect(await sandbox.whenEnded).toMatchObject({ reason: 'idle', message: 'Nobody used it for 1.5 s.' });
    expect(sandbox.ended).toMatchObject({ reason: 'idle' });
  });

  it('is closed in the middle of everything, and leaves nothing', async () => {
    const sandbox = await open(target);
    const running = sandbox.exec(['sh', '-c', 'echo begun; exec sleep 100'], {
      onOutput: () => void sandbox.close(),
    });
    const waiting = sandbox.exec(['true']);
    const calls = [sandbox.start(['sleep', '100']), sandbox.listFiles(), sandbox.writeFile('a', 'b')];
    const settled = Promise.allSettled([waiting, ...calls]);
    expect(await running).toMatchObject({ outcome: 'killed', stdout: 'begun\n' });
    await sandbox.close();
    for (const result of await settled) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'SANDBOX_CLOSED' });
    }
    await expect(waiting).rejects.toMatchObject({ details: { reason: 'closed' } });
    expect(sandbox.ended).toMatchObject({ reason: 'closed' });
    await expectNothingLeft();
  });

  it('is closed by its manager with all the others, those that are being made too', async () => {
    const manager = new SandboxManager({ runtime: target.runtime, cwd: scratch });
    const id = await manager.createSandbox();
    const running = manager.exec(id, ['sh', '-c', 'echo begun; exec sleep 100'], {
      onOutput: () => void manager.close(),
    });
    const making = Promise.allSettled([manager.createSandbox(), manager.createSandbox()]);
    expect(await running).toMatchObject({ outcome: 'killed' });
    await manager.close();
    for (const result of await making) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'SANDBOX_CLOSED' });
    }
    expect(manager.list()).toEqual([]);
    expect(() => manager.get(id)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ reason: 'manager_closed' }) }),
    );
    await expectNothingLeft();
  });
});

describeMissing('a live sandbox');
