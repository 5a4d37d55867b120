/** What people know of Python notebooks, with the real libraries where they are. */
import { describe, expect, it } from 'vitest';
import type { RichResult } from '../../src/result/contextExecution.ts';
import { TARGETS } from '../support/targets.ts';
import { isOfItsOwnKind, type Use, withContext } from './support.ts';

const [target] = TARGETS.filter(isOfItsOwnKind);
if (target === undefined) throw new Error('A plain process works everywhere.');

const python = <T>(use: (use: Use) => Promise<T>): Promise<T> => withContext(target, 'python', use);

/** The modules that the interpreter has, of those that people use. */
const present = await python(async ({ run }) => {
  const { results } = await run(
    'import importlib.util\n[name for name in ("matplotlib", "pandas", "PIL") if importlib.util.find_spec(name)]',
  );
  return results[0]?.json as string[];
});

/** A test with a library, or a skipped one that says which is missing. */
function withLibrary(name: string, title: string, test: (use: Use) => Promise<void>): void {
  if (present.includes(name)) it(title, () => python(test));
  else it.skip(`${title} (not here: ${name}; apt-get install python3-${name.toLowerCase()})`, () => {});
}

function isPng(base64: string | undefined): boolean {
  return (
    Buffer.from(base64 ?? '', 'base64')
      .subarray(0, 8)
      .toString('latin1') === '\x89PNG\r\n\x1a\n'
  );
}

const forms = ({ type, notes: _, ...rest }: RichResult): string[] => [type, ...Object.keys(rest)];

describe('the value of the last expression', () => {
  it.each<[string, unknown[]]>([
    ['1 + 1', [{ type: 'result', text: '2', json: 2 }]],
    ['"a"', [{ type: 'result', text: "'a'", json: 'a' }]],
    [
      '{"a": [1, None, True]}',
      [{ type: 'result', text: "{'a': [1, None, True]}", json: { a: [1, null, true] } }],
    ],
    ['(1, 2)', [{ type: 'result', text: '(1, 2)' }]],
    ['{1: 2}', [{ type: 'result', text: '{1: 2}' }]],
    ['10 ** 20', [{ type: 'result', text: '100000000000000000000' }]],
    ['float("nan")', [{ type: 'result', text: 'nan' }]],
    ['a = []; a.append(a); a', [{ type: 'result', text: '[[...]]' }]],
    ['None', []],
    ['x = 1', []],
    ['1;', []],
    ['if True: 1', []],
    ['# nothing', []],
    ['', []],
    ['import asyncio\nawait asyncio.sleep(0, "later")', [{ type: 'result', text: "'later'", json: 'later' }]],
    [
      'display(1); 2',
      [
        { type: 'display', text: '1', json: 1 },
        { type: 'result', text: '2', json: 2 },
      ],
    ],
    [
      'display({"text/html": "<b>", "a/b": 1}, raw=True)',
      [{ type: 'display', html: '<b>', extra: { 'a/b': 1 } }],
    ],
    ['"\\ud800"', [{ type: 'result', text: "'\\ud800'", json: '?' }]],
  ])('of %j', async (code, results) => {
    await python(async ({ run }) => {
      const outcome = await run(code);
      expect([outcome.results, outcome.stderr.text]).toEqual([results, '']);
    });
  });

  it('comes in every form that its class gives it, and without those that fail', async () => {
    await python(async ({ run }) => {
      const { results } = await run(`
class Shape:
  def __repr__(self): return 'shape'
  def _repr_html_(self): return '<i>'
  def _repr_markdown_(self): return '*', {'metadata': 1}
  def _repr_latex_(self): return None
  def _repr_json_(self): return {'a': 1}
  def _repr_svg_(self): return '<svg>'
  def _repr_png_(self): return b'abc'
  def _repr_jpeg_(self): raise ValueError('no jpeg')
Shape()`);
      expect(results).toEqual([
        {
          ...{
            type: 'result',
            text: 'shape',
            html: '<i>',
            markdown: '*',
            json: { a: 1 },
            svg: '<svg>',
            png: 'YWJj',
          },
          notes: ['_repr_jpeg_ raised ValueError: no jpeg'],
        },
      ]);
    });
  });

  it('that cannot show itself is still a value, and one that never ends doing so is interrupted', async () => {
    await python(async ({ run, print }) => {
      const broken = await run('class A:\n  def __repr__(self): raise ValueError("no")\nA()');
      expect(broken).toMatchObject({
        exitCode: 0,
        results: [{ text: '<A>', notes: ['repr() raised ValueError: no'] }],
      });
      expect(await run('from unittest.mock import MagicMock\nMagicMock()')).toMatchObject({ exitCode: 0 });
      const endless = await run('class B:\n  def __repr__(self):\n    while True: pass\nB()', {
        timeoutSec: 1,
      });
      expect(endless).toMatchObject({ outcome: 'timed_out', error: { name: 'KeyboardInterrupt' } });
      expect(await print('print(A.__name__)')).toBe('A\n');
    });
  });
});

describe('errors', () => {
  it('show the lines of their cells, and not ours', async () => {
    await python(async ({ run }) => {
      await run('def f():\n  return 1 / 0');
      const { error, stderr, exitCode } = await run('f()');
      expect(exitCode).toBe(1);
      expect(error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
      expect(error?.traceback).toMatch(
        /^Traceback \(most recent call last\):\n {2}File "<cell 2>", line 1, in <module>\n {4}f\(\)\n {2}File "<cell 1>", line 2, in f\n {4}return 1 \/ 0\n/,
      );
      expect(stderr.text).toBe(error?.traceback);
    });
  });

  it.each([
    ['an exit', 'exit(3)', { exitCode: 3, error: { name: 'SystemExit', value: '3' } }],
    ['an exit with a text', 'import sys; sys.exit("why")', { exitCode: 1, stderr: { text: 'why\n' } }],
    ['a syntax error', 'if x', { exitCode: 1, error: { name: 'SyntaxError' } }],
    [
      'an error in an awaited function',
      'async def f(): 1 / 0\nawait f()',
      { exitCode: 1, error: { name: 'ZeroDivisionError' } },
    ],
    ['endless recursion', 'def f(): f()\nf()', { exitCode: 1, error: { name: 'RecursionError' } }],
    [
      'an error whose text fails',
      'class E(Exception):\n  def __str__(self): 1 / 0\nraise E',
      { exitCode: 1, error: { name: 'E' } },
    ],
    ['a NUL', 'a = 1\0', { exitCode: 1 }],
    ['input', 'input()', { exitCode: 1, error: { name: 'EOFError' } }],
  ])('end a cell and not the context: %s', async (_, code, outcome) => {
    await python(async ({ run, print }) => {
      await run('x = 1');
      const failed = await run(code);
      expect(failed).toMatchObject({ outcome: 'exited', ...outcome });
      expect(failed.stderr.text).not.toContain('glovebox');
      expect(await print('print(x)')).toBe('1\n');
    });
  });

  it('say nothing of us when a cell is interrupted', async () => {
    await python(async ({ run }) => {
      const { error } = await run('while True: pass', { timeoutSec: 1 });
      expect(error?.traceback).toMatch(
        /^Traceback.*\n {2}File "<cell 1>", line 1, in <module>\n.*pass\n(.*\^.*\n)?KeyboardInterrupt\n$/,
      );
    });
  });
});

describe('what a script can do', () => {
  it('works here, too', async () => {
    await python(async ({ run, print }) => {
      expect(await print('print(__name__)\nimport sys\nprint(sys.argv)')).toBe("__main__\n['']\n");
      await run('from __future__ import annotations');
      expect(await print('def f(a: nowhere): pass\nprint(f.__annotations__)')).toBe("{'a': 'nowhere'}\n");
      await run('import asyncio\nasync def later():\n  await asyncio.sleep(0.01)\n  return 5');
      expect(await print('print(asyncio.run(later()))')).toBe('5\n');
      expect(await print('print(await later())')).toBe('5\n');
      await run('import pickle\nclass P: pass');
      expect(await print('print(type(pickle.loads(pickle.dumps(P()))) is P)')).toBe('True\n');
      await print('open("module_of_mine.py", "w").write("value = 7") and None');
      expect(await print('import module_of_mine\nprint(module_of_mine.value)')).toBe('7\n');
      await run('import inspect\ndef g():\n  return 1');
      expect(await print('print(inspect.getsource(g))')).toBe('def g():\n  return 1\n');
    });
  });

  it('runs in children that are forked, which end where the cell does', async () => {
    await python(async ({ run, print }) => {
      const forked = await run(
        'import os\npid = os.fork()\nif pid: print(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))\nelse: raise ValueError("in the child")',
      );
      expect(forked).toMatchObject({ exitCode: 0, stdout: { text: '1\n' } });
      expect(forked.stderr.text).toMatch(/^Traceback.*\n {2}File "<cell 1>".*\nValueError: in the child\n$/s);
      const pool =
        'import multiprocessing\ndef square(n): return n * n\nwith multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(square, [1, 2, 3]))';
      expect(await print(pool)).toBe('[1, 4, 9]\n');
    });
  });

  it('gives what it starts no descriptor of ours', async () => {
    await python(async ({ print }) => {
      const look = 'for d in $(seq 3 1023); do [ -e /proc/self/fd/$d ] && echo $d; done; echo end';
      const start = `import subprocess\nprint(subprocess.run(["bash", "-c", ${JSON.stringify(look)}], close_fds=False, stdout=-1, text=True).stdout)`;
      expect(await print(start)).toBe('end\n\n');
      const forked =
        'import os\nif os.fork() == 0:\n  print([d for d in range(3, 1024) if os.path.exists(f"/proc/self/fd/{d}")])\n  os._exit(0)\nos.wait() and None';
      // The folder that is being looked at has a descriptor, but only while it is.
      expect(await print(forked)).toBe('[]\n');
    });
  });

  it('leaves tasks that go on while nothing runs', async () => {
    await python(async ({ run, print }) => {
      await run(
        'import asyncio, pathlib\nasync def write():\n  await asyncio.sleep(0.05)\n  pathlib.Path("done").touch()\ntask = asyncio.create_task(write())\nawait asyncio.sleep(0)',
      );
      const wait = 'import pathlib, time\nwhile not pathlib.Path("done").exists(): time.sleep(0.01)';
      // Only between two cells can it go on: the first one of these waits too long, or the second one need not.
      await run(wait, { timeoutSec: 1 });
      expect((await run(wait)).exitCode).toBe(0);
      expect(await print('print(task.done())')).toBe('True\n');
    });
  });

  it('is interrupted in what it waits for, and the event loop goes on', async () => {
    await python(async ({ run, print }) => {
      await run('import asyncio\ncleaned = []');
      const late = await run('try:\n  await asyncio.sleep(100)\nfinally:\n  cleaned.append(1)', {
        timeoutSec: 1,
      });
      expect(late).toMatchObject({ outcome: 'timed_out', error: { name: 'KeyboardInterrupt' } });
      expect(await print('print(await asyncio.sleep(0, cleaned))')).toBe('[1]\n');
    });
  });

  it('prints from native code', async () => {
    await python(async ({ print }) => {
      const code = 'import ctypes\nctypes.CDLL(None).printf(b"native %d\\n", 7) and None';
      expect(await print(code)).toBe('native 7\n');
    });
  });
});

describe('libraries', () => {
  withLibrary(
    'matplotlib',
    'figures are shown at the end of a cell and by show, and closed',
    async ({ run, print }) => {
      const { results } = await run('import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nplt.figure();');
      expect(results.map(forms)).toEqual([
        ['display', 'text', 'png'],
        ['display', 'text', 'png'],
      ]);
      expect(results.every(({ png }) => isPng(png))).toBe(true);
      expect(await print('print(plt.get_fignums())')).toBe('[]\n');
      const shown = await run(
        'plt.plot([1]);\nplt.show()\nprint(plt.get_fignums())\nfig, ax = plt.subplots()\nfig',
      );
      expect(shown.results.map(forms)).toEqual([
        ['display', 'text', 'png'],
        ['result', 'text', 'png'],
      ]);
      expect([shown.stdout.text, shown.stderr.text]).toEqual(['[]\n', '']);
      const failed = await run('plt.plot([1])\n1 / 0');
      expect(failed).toMatchObject({ exitCode: 1, results: [{ type: 'display' }] });
    },
  );

  withLibrary('matplotlib', 'a backend that is asked for by name is no obstacle', async ({ run }) => {
    const { results, stderr } = await run(
      'import matplotlib\nmatplotlib.use("Agg")\nfrom matplotlib import pyplot\npyplot.plot([1])\npyplot.show()',
    );
    expect([results.map(forms), stderr.text]).toEqual([[['display', 'text', 'png']], '']);
  });

  withLibrary('pandas', 'tables come as HTML', async ({ run }) => {
    const { results } = await run('import pandas\npandas.DataFrame({"a": [1, 2]})');
    expect(results.map(forms)).toEqual([['result', 'text', 'html']]);
    expect(results[0]?.html).toContain('<table');
  });

  withLibrary('PIL', 'images come as PNG', async ({ run }) => {
    const { results } = await run('from PIL import Image\nImage.new("RGB", (2, 2))');
    expect(isPng(results[0]?.png)).toBe(true);
  });
});
