/** What people know of a prompt of Node.js, and of scripts. */
import { describe, expect, it } from 'vitest';
import { LanguageContext } from '../../src/sandbox/context.ts';
import { TARGETS } from '../support/targets.ts';
import { delayInterrupts, isOfItsOwnKind, makeGuest, shorthands, type Use, withContext } from './support.ts';

const target = TARGETS.find(isOfItsOwnKind) ?? missing();

function missing(): never {
  throw new Error('A plain process works everywhere.');
}

const javascript = <T>(use: (use: Use) => Promise<T>): Promise<T> => withContext(target, 'javascript', use);

const LATE_MS = 100;

describe('the value of the last expression', () => {
  it.each<[string, unknown[]]>([
    ['1 + 1', [{ type: 'result', text: '2', json: 2 }]],
    ['await Promise.resolve("a");', [{ type: 'result', text: "'a'", json: 'a' }]],
    ['({ a: [1, null] })', [{ type: 'result', text: '{ a: [ 1, null ] }', json: { a: [1, null] } }]],
    ['[undefined]', [{ type: 'result', text: '[ undefined ]' }]],
    ['new Map([[1, 2]])', [{ type: 'result', text: 'Map(1) { 1 => 2 }' }]],
    ['const a = {}; a.a = a; a', [{ type: 'result', text: '<ref *1> { a: [Circular *1] }' }]],
    ['undefined', []],
    ['const b = 1', []],
    [
      'display(1); display({ "text/html": "<b>", "image/png": Buffer.from("abc") })',
      [
        { type: 'display', text: '1', json: 1 },
        { type: 'display', html: '<b>', png: 'YWJj' },
      ],
    ],
    [
      '({ _repr_html_: async () => "<i>", _repr_svg_() { throw new Error("no") }, toString: () => "" })',
      [{ type: 'result', text: expect.any(String), html: '<i>', notes: ['_repr_svg_ threw no'] }],
    ],
  ])('of %j', async (code, results) => {
    await javascript(async ({ run }) => {
      const outcome = await run(code);
      expect([outcome.results, outcome.stderr.text]).toEqual([results, '']);
    });
  });
});

describe('errors', () => {
  it.each([
    ['an error', 'throw new TypeError("no")', { exitCode: 1, error: { name: 'TypeError', value: 'no' } }],
    [
      'one that is awaited',
      'await Promise.reject(new RangeError("no"))',
      { exitCode: 1, error: { name: 'RangeError' } },
    ],
    [
      'what is no error',
      'throw 5',
      { exitCode: 1, error: { name: 'Error', value: '5', traceback: 'Uncaught 5\n' } },
    ],
    ['a syntax error', 'const = 1', { exitCode: 1, error: { name: 'SyntaxError' } }],
    ['an exit', 'process.exit(3)', { exitCode: 3, error: { name: 'SystemExit', value: '3' } }],
    [
      'an exit in a callback',
      'setTimeout(() => process.exit(4)); await new Promise(() => {})',
      { exitCode: 4 },
    ],
    ['an exit code', 'process.exitCode = 5', { exitCode: 5 }],
    [
      'a module that is not there',
      'import { none } from "no-such-module"',
      { exitCode: 1, error: { name: 'Error' } },
    ],
    [
      'a name that a module has not',
      'import { none } from "fs"',
      { exitCode: 1, error: { name: 'SyntaxError' } },
    ],
  ])('end a cell and not the context: %s', async (_, code, outcome) => {
    await javascript(async ({ run, print }) => {
      await run('let x = 1');
      const failed = await run(code);
      expect(failed).toMatchObject({ outcome: 'exited', ...outcome });
      expect(failed.stderr.text).not.toContain('glovebox');
      expect(await print('console.log(x)')).toBe('1\n');
    });
  });

  it('name the cell and the line', async () => {
    await javascript(async ({ run }) => {
      await run('\nfunction f() { nowhere() }');
      const { error } = await run('await 1\n\nf()');
      expect(error?.traceback).toMatch(/ {4}at f \(<cell 1>:2:16\)\n {4}at <cell 2>:3:\d+\n/);
    });
  });

  it('that nobody waited for are told and end nothing', async () => {
    await javascript(async ({ run, print }) => {
      const outcome = await run(
        'setTimeout(() => { throw new Error("later") }); Promise.reject(new Error("lost")); await new Promise((r) => setTimeout(r, 50))',
      );
      expect(outcome.exitCode).toBe(0);
      expect(outcome.stderr.text).toMatch(/Uncaught \(in promise\) Error: lost/);
      expect(outcome.stderr.text).toMatch(/Uncaught [^(]*Error: later/);
      expect(await print('console.log(1)')).toBe('1\n');
    });
  });
});

describe('what a script can do', () => {
  it('works here, too', async () => {
    await javascript(async ({ run, print }) => {
      await run('const crypto = require("crypto"); const process = require("process")');
      expect(await print('console.log(typeof crypto.createHash, process === globalThis.process)')).toBe(
        'function true\n',
      );
      await run('require("fs").writeFileSync("mine.mjs", "export const value = 7; export default 8")');
      expect(await print('import eight, { value } from "./mine.mjs"; console.log(value, eight)')).toBe(
        '7 8\n',
      );
      expect(await print('console.log((await import("./mine.mjs")).value)')).toBe('7\n');
      expect(
        await print('process.stdout.write("a", () => {}); process.stdout.end("b\\n"); console.table'),
      ).toBe('ab\n');
      expect(
        await print(
          'require("stream").Readable.from(["piped\\n"]).pipe(process.stdout); await new Promise((r) => setTimeout(r, 20))',
        ),
      ).toBe('piped\n');
      const child =
        'console.log((await require("util").promisify(require("child_process").execFile)("sh", ["-c", "for d in 3 4 5; do (: <&$d) 2>/dev/null && echo $d; done; echo end"])).stdout)';
      expect(await print(child)).toBe('end\n\n');
    });
  });

  it('keeps printing after an interrupt in the middle of printing', async () => {
    await javascript(async ({ run, print }) => {
      for (let round = 0; round < 3; round++) {
        expect(await run('for (;;) console.log("x".repeat(10))', { timeoutSec: 0.3 })).toMatchObject({
          outcome: 'timed_out',
        });
        expect((await print('console.log("still")')).endsWith('still\n')).toBe(true);
      }
    });
  });

  it('is whatever a cell makes of the built-in objects', async () => {
    await javascript(async ({ run, print }) => {
      await run(
        'Array.prototype.map = null; JSON.stringify = null; Object.entries = null; var Buffer = 1; globalThis.Promise = null',
      );
      const outcome = await run('1');
      expect(outcome.outcome).toMatch(/exited|killed/);
      if (outcome.ended === undefined) expect(await print('console.log(1)')).toBe('1\n');
    });
  });
});

describe('an interrupt', () => {
  it('comes at any moment, as often as it likes, and never ends the context', async () => {
    await javascript(async ({ context, run, print }) => {
      await run('let kept = 42');
      for (let round = 0; round < 150; round++) {
        const busy = `for (const until = Date.now() + ${round % 5}; Date.now() < until;);`;
        const waits = `await new Promise((r) => setTimeout(r, ${round % 5}));`;
        const cell = run([busy, waits, busy + waits, waits + busy][round % 4] as string);
        let isOver = false;
        const storm = (): void => {
          if (!isOver) void context.interrupt().then(() => setTimeout(storm, Math.random() * 2));
        };
        storm();
        const outcome = await cell;
        isOver = true;
        expect(outcome).toMatchObject({
          outcome: 'exited',
          stderr: { text: expect.not.stringMatching(/kernel/) },
        });
        expect(outcome.ended).toBeUndefined();
      }
      expect(await print('console.log(kept)')).toBe('42\n');
    });
  });

  it('does not reach the next cell by a signal that comes late', async () => {
    const guest = await makeGuest(target);
    const late: Promise<void>[] = [];
    try {
      delayInterrupts(guest, LATE_MS, late);
      const context = await LanguageContext.create(guest, { language: 'javascript' });
      const { run, print } = shorthands(context);
      for (let round = 0; round < 5; round++) {
        const waits = run('console.log("begun"); await new Promise(() => {})', {
          onOutput: ({ text }) => {
            if (text.includes('begun')) void context.interrupt();
          },
        });
        // What the signal is sent with has ended it before.
        expect(await waits).toMatchObject({ exitCode: 1, error: { name: 'Interrupted' } });
        const works = 'for (const until = Date.now() + 300; Date.now() < until; );console.log("done")';
        expect(await print(works)).toBe('done\n');
      }
      expect(late).toHaveLength(5);
      await context.close();
    } finally {
      await Promise.allSettled(late);
      await guest.destroy();
    }
  });

  it.each([
    ['after an await', 'await new Promise((r) => setTimeout(r, 20)); for (;;);'],
    ['after a promise that was kept already', 'await 1; for (;;);'],
    ['in a timer', 'setTimeout(() => { for (;;); }, 20); await new Promise(() => {});'],
    ['on the next tick', 'process.nextTick(() => { for (;;); }); await new Promise(() => {});'],
    ['that awaits', 'for (;;) await 0;'],
    ['that catches everything', 'await 1; for (;;) try { for (;;); } catch {} finally { for (;;); }'],
    ['in the end of another', 'await 1; try { throw 1; } finally { for (;;); }'],
    ['behind a program', 'await 1; for (;;) try { require("child_process").execSync("sleep 5"); } catch {}'],
  ])('ends an endless loop %s, and leaves the state', async (_, code) => {
    await javascript(async ({ run, print }) => {
      await run('let kept = 42');
      for (let round = 0; round < 3; round++) {
        const outcome = await run(code, { timeoutSec: 0.5 });
        expect(outcome).toMatchObject({ outcome: 'timed_out', exitCode: -1 });
        expect(await print('await new Promise((r) => setTimeout(r, 20)); console.log(kept)')).toBe('42\n');
      }
    });
  });

  it('is ours, whatever listens for it', async () => {
    await javascript(async ({ run, print }) => {
      await run('let kept = 42; process.on("SIGINT", () => {}); process.once("SIGINT", () => {});');
      for (const code of [
        'for (;;);',
        'await new Promise(() => {})',
        'process.off("SIGINT", () => {}); for (;;);',
      ]) {
        expect(await run(code, { timeoutSec: 0.3 })).toMatchObject({ outcome: 'timed_out', exitCode: -1 });
        expect(await print('console.log(kept)')).toBe('42\n');
      }
    });
  });
});
