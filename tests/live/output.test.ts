/** The output of executions is kept, to be paged while they run and afterwards. */
import { describe, expect, it } from 'vitest';
import { describeMissing } from '../support/targets.ts';
import { EACH_KIND, open } from './support.ts';

describe.each(EACH_KIND)('the kept output of executions: $name', (target) => {
  it('is whole where the result is cut, and can be paged', async () => {
    await using sandbox = await open(target);
    const { stdout, truncated, meta } = await sandbox.execute(
      "import sys\nfor n in range(20000): print(f'line {n} é')\nprint('to stderr', file=sys.stderr)",
      { maxOutputBytes: 1000 },
    );
    expect(truncated).toBe(true);
    expect(stdout.length).toBeLessThan(1100);
    expect(meta.resourceLimits.maxOutputKb).toBeCloseTo(1000 / 1024);
    let text = '';
    for (let offset = 0; ; ) {
      const page = sandbox.output(meta.executionId, { offset, limit: 10_001 });
      expect(page).toMatchObject({ offset, totalBytes: meta.stdoutBytes, droppedBytes: 0, ended: true });
      if (page.bytes.length === 0) break;
      text += page.text;
      offset = page.nextOffset;
    }
    expect(text).toBe(Array.from({ length: 20_000 }, (_, n) => `line ${n} é\n`).join(''));
    expect(sandbox.output(meta.executionId, { stream: 'stderr' }).text).toBe('to stderr\n');
    expect(() => sandbox.output('of-nobody')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });

  it('is followed while it comes, and taken up where a reader was cut off', async () => {
    await using sandbox = await open(target);
    let started: (id: string) => void = () => {};
    const id = new Promise<string>((resolve) => {
      started = resolve;
    });
    const running = sandbox.exec(
      ['sh', '-c', 'echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; echo three'],
      { onStart: ({ executionId }) => started(executionId) },
    );
    let offset = 0;
    for await (const page of sandbox.follow(await id)) {
      expect(page).toMatchObject({ text: 'one\n', ended: false });
      offset = page.nextOffset;
      break;
    }
    await sandbox.writeFile('go', '');
    let rest = '';
    for await (const page of sandbox.follow(await id, { offset })) rest += page.text;
    expect(rest).toBe('two\nthree\n');
    expect((await running).meta.executionId).toBe(await id);
  });

  it('ends whoever follows with the sandbox', async () => {
    const sandbox = await open(target);
    let reading: Promise<unknown> | undefined;
    const running = sandbox.exec(['sh', '-c', 'echo one; exec sleep 100'], {
      onStart: ({ executionId }) => {
        reading = (async () => {
          for await (const _ of sandbox.follow(executionId)) void sandbox.close();
        })();
        reading.catch(() => {});
      },
    });
    expect((await running).outcome).toBe('killed');
    const [followed] = await Promise.allSettled([reading]);
    // It may have been told of the end before there was no more to follow.
    if (followed?.status === 'rejected') expect(followed.reason).toMatchObject({ code: 'SANDBOX_CLOSED' });
    await sandbox.close();
  });
});

describeMissing('the kept output of executions');
