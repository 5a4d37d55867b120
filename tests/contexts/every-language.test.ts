/** What a context promises in every language, on every runtime that is here. */
import { describe, expect, it } from 'vitest';
import { LANGUAGE_NAMES } from '../../src/languages/language.ts';
import { LanguageContext } from '../../src/sandbox/context.ts';
import { describeMissing, TARGETS } from '../support/targets.ts';
import { isOfItsOwnKind, makeGuest, SAYINGS, shorthands, withContext } from './support.ts';

describeMissing('contexts');

/** Every program of a sandbox gets an interrupt, where the runtime reaches them all. */
const INTERRUPT_WITHIN_SEC = 2;

for (const target of TARGETS.filter(isOfItsOwnKind)) {
  describe.each(LANGUAGE_NAMES)(`${target.name}: a %s context`, (language) => {
    const say = SAYINGS[language];

    it('keeps its variables, also behind an error, and gives each cell its own output', async () => {
      await withContext(target, language, async ({ run, print }) => {
        await run(say.remember);
        expect(await print(say.recall)).toBe('42\n');
        const failed = await run(say.fail);
        expect(failed).toMatchObject({ outcome: 'exited', executionCount: 3 });
        expect(failed.exitCode).not.toBe(0);
        expect(failed.stderr.text).toMatch(/no/);
        expect(await print(say.recall)).toBe('42\n');
        const children = await run(say.children);
        expect([children.stdout.text, children.stderr.text]).toEqual(['to stdout\n', 'to stderr\n']);
        expect(await run(say.readInput)).toMatchObject({
          exitCode: 0,
          stdout: { text: { python: "''\n", javascript: '""\n', shell: '1\n' }[language] },
        });
      });
    });

    it('is interrupted without losing anything, whatever it does', async () => {
      await withContext(target, language, async ({ context, run, print }) => {
        await run(say.remember);
        // Many times, each at another moment: a signal is easily lost, or comes late and hits the next cell.
        for (let round = 0; round < 20; round++) {
          const code = round % 2 === 0 ? say.hang : say.busy;
          const cell = run(code, {
            onOutput: ({ text }) => {
              if (text.includes('begun')) void context.interrupt();
            },
          });
          const outcome = await cell;
          expect(outcome).toMatchObject({
            outcome: 'exited',
            exitCode: language === 'shell' ? 130 : 1,
            error: { name: language === 'python' ? 'KeyboardInterrupt' : 'Interrupted' },
            stdout: { text: 'begun\n' },
          });
          expect(await print(say.recall)).toBe('42\n');
        }
        expect(await context.interrupt()).toBe(false);
        expect(await print(say.recall)).toBe('42\n');
      });
    });

    it('goes on after a timeout and after a cancelled cell', async () => {
      await withContext(target, language, async ({ run, print }) => {
        await run(say.remember);
        const late = await run(say.hang, { timeoutSec: 1 });
        expect(late).toMatchObject({ outcome: 'timed_out', exitCode: -1, stdout: { text: 'begun\n' } });
        expect(late.stderr.text).toContain('timed out after 1 seconds');
        expect(late.ended).toBeUndefined();
        const giveUp = new AbortController();
        const cancelled = await run(say.busy, {
          signal: giveUp.signal,
          onOutput: () => giveUp.abort(),
        });
        expect(cancelled).toMatchObject({ outcome: 'cancelled', exitCode: 130 });
        expect(await run(say.recall, { signal: giveUp.signal })).toMatchObject({ outcome: 'cancelled' });
        expect(await print(say.recall)).toBe('42\n');
      });
    });

    it('is ended when it does not heed an interrupt, and says so', async () => {
      await withContext(target, language, async ({ context, run }) => {
        const startedAt = performance.now();
        const outcome = await run(say.stubborn, { timeoutSec: 1 });
        expect((performance.now() - startedAt) / 1000).toBeLessThan(1 + INTERRUPT_WITHIN_SEC + 2.5);
        expect(outcome).toMatchObject({ outcome: 'timed_out', exitCode: -1, killedBy: 'timeout' });
        expect(outcome.stderr.text).toMatch(
          /timed out after 1 seconds\. The context has ended\. It did not stop/,
        );
        expect(outcome.ended).toBe(context.ended);
        await expect(run(say.recall)).rejects.toMatchObject({
          code: 'SANDBOX_CLOSED',
          message: expect.stringContaining('It did not stop within 2 seconds'),
          hint: expect.stringContaining(`sandbox.context('${language}')`),
        });
      });
    });

    it('tells how it ended when its program ends it, with its last words', async () => {
      await withContext(target, language, async ({ context, run }) => {
        const outcome = await run(say.suicide);
        expect(outcome).toMatchObject({ outcome: 'killed', stdout: { text: 'last words\n' } });
        expect(outcome.stderr.text).toContain('The context has ended. It was ended by signal');
        await context.closed;
        await expect(run(say.recall)).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
      });
    });

    it('takes a flood as it comes, with true counts', async () => {
      await withContext(target, language, async ({ run, print }) => {
        const before = process.memoryUsage().rss;
        const outcome = await run(say.flood, { timeoutSec: 60 });
        expect(outcome).toMatchObject({
          exitCode: 0,
          stdout: { bytes: 200 * 1024 * 1024, truncated: true },
        });
        expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
        expect(await print(say.echo('small'))).toBe('small\n');
      });
    });
  });

  describe(`${target.name}: contexts`, () => {
    it('stand side by side, each with its own state, and run cells in the order of the calls', async () => {
      const guest = await makeGuest(target, { processes: 100 });
      try {
        const contexts = await Promise.all(
          (['python', 'python', 'shell', 'javascript'] as const).map((language) =>
            LanguageContext.create(guest, { language }),
          ),
        );
        const outputs = await Promise.all(
          contexts.flatMap((context, i) => {
            const { print } = shorthands(context);
            const { language } = context;
            const assign = { python: `y = ${i}`, shell: `y=${i}`, javascript: `var y = ${i}` }[language];
            const show = { python: 'print(y)', shell: 'echo $y', javascript: 'console.log(y)' }[language];
            return [print(assign), print(show)];
          }),
        );
        expect(outputs).toEqual(['', '0\n', '', '1\n', '', '2\n', '', '3\n']);
        await Promise.all(contexts.map((context) => context.close()));
      } finally {
        await guest.destroy();
      }
    }, 90_000);

    it('die with their guest', async () => {
      const guest = await makeGuest(target);
      const contexts = await Promise.all(
        LANGUAGE_NAMES.map((language) => LanguageContext.create(guest, { language })),
      );
      const running = shorthands(contexts[0] as LanguageContext).run(SAYINGS.python.hang, {
        onOutput: () => void guest.destroy(),
      });
      const [end] = await Promise.allSettled([running]);
      expect(end?.status === 'fulfilled' ? end.value.outcome : end?.reason.code).toMatch(
        /^(killed|SANDBOX_FAILED)$/,
      );
      await Promise.all(contexts.map((context) => context.closed));
      for (const context of contexts) {
        await expect(shorthands(context).run('1')).rejects.toMatchObject({ code: 'SANDBOX_CLOSED' });
        await context.close();
      }
      await guest.destroy();
    });
  });
}
