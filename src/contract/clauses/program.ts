import { createHash } from 'node:crypto';
import type { Clause } from '../clause.ts';
import { must, mustEqual } from '../expectations.ts';

/** Longer than a pipe, an argument and a line of any tool that code might be squeezed through. */
const LONG_SOURCE = `import hashlib, sys
with open(__file__, 'rb') as file: print(hashlib.sha256(file.read()).hexdigest())
${'# $HOME `id` "\'\\ %s é 漢字 😀 \t.\n'.repeat(8000)}# no line end`;

export const PROGRAM_CLAUSES: readonly Clause[] = [
  {
    id: 'runs-python',
    promise: 'Python code runs, and its output and success are the result.',
    async check(context) {
      const box = await context.open();
      const { stdout, stderr, exitCode, outcome } = await box.python('print("hello", 6 * 7)');
      mustEqual(
        { stdout, stderr, exitCode, outcome },
        { stdout: 'hello 42\n', stderr: '', exitCode: 0, outcome: 'exited' },
        'the result',
      );
    },
  },
  {
    id: 'runs-javascript',
    promise: 'JavaScript code runs as a module, or is refused as a language that is not there.',
    language: 'javascript',
    async check(context) {
      const box = await context.open();
      const { stdout, stderr, exitCode } = await box.code(
        'javascript',
        'const { basename } = await import("node:path"); console.log("hello", 6 * 7, basename("/a/b"));',
      );
      mustEqual(
        { stdout, stderr, exitCode },
        { stdout: 'hello 42 b\n', stderr: '', exitCode: 0 },
        'the result',
      );
    },
  },
  {
    id: 'runs-shell',
    promise: 'Shell code runs, or is refused as a language that is not there.',
    language: 'shell',
    async check(context) {
      const box = await context.open();
      const { stdout, stderr, exitCode } = await box.code(
        'shell',
        // A list and a slice: bash, and not merely a POSIX shell.
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's.
        'words=(hello $((6 * 7)))\necho ${words[@]:0}',
      );
      mustEqual(
        { stdout, stderr, exitCode },
        { stdout: 'hello 42\n', stderr: '', exitCode: 0 },
        'the result',
      );
    },
  },
  {
    id: 'runs-command',
    promise: 'A command runs as a list of arguments, and one that is not there ends with 127.',
    language: 'shell',
    async check(context) {
      const box = await context.open();
      const { stdout, exitCode } = await box.command(['printf', '<%s>', 'a b', '$HOME', '*', '"']);
      mustEqual({ stdout, exitCode }, { stdout: '<a b><$HOME><*><">', exitCode: 0 }, 'the result');
      mustEqual(
        (await box.command(['glovebox-no-such-command'])).exitCode,
        127,
        'the code of a missing command',
      );
    },
  },
  {
    id: 'source-verbatim',
    promise: 'The bytes that run are the bytes that were given, however long and whatever is in them.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(LONG_SOURCE);
      mustEqual(
        ran.stdout.trim(),
        createHash('sha256').update(LONG_SOURCE).digest('hex'),
        'the hash of the code',
      );
    },
  },
  {
    id: 'exit-code',
    promise: "The exit code is the program's own.",
    async check(context) {
      const box = await context.open();
      for (const code of [7, 0, 255]) {
        const ran = await box.python('import sys; sys.exit(int(sys.argv[1]))', { args: [String(code)] });
        mustEqual(
          [ran.outcome, ran.exitCode],
          ['exited', code],
          `the end of a program that exits with ${code}`,
        );
      }
    },
  },
  {
    id: 'uncaught-error',
    promise: 'An uncaught error is exit code 1, with a traceback that names the file.',
    async check(context) {
      const box = await context.open();
      const { outcome, exitCode, stderr, stdout } = await box.python(
        'print("before")\nraise ValueError("of no use")',
      );
      mustEqual([outcome, exitCode, stdout], ['exited', 1, 'before\n'], 'the end');
      must(
        /Traceback.*main\.py", line 2.*ValueError: of no use/s.test(stderr),
        `standard error is ${JSON.stringify(stderr)}, no traceback of main.py`,
      );
    },
  },
  {
    id: 'killed-by-sigkill',
    promise: 'A program that a signal ends is `killed`, with 128 and the signal as its code.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python('import os; print("before", flush=True); os.kill(os.getpid(), 9)');
      mustEqual(
        [ran.outcome, ran.exitCode, ran.signal, ran.stdout],
        ['killed', 137, 9, 'before\n'],
        'the end of a program that sends itself SIGKILL',
      );
    },
  },
  {
    id: 'killed-by-sigterm',
    promise: 'A SIGTERM that the program sends itself is told apart from one of ours.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python('import os, signal; os.kill(os.getpid(), signal.SIGTERM)');
      mustEqual(
        [ran.outcome, ran.exitCode, ran.signal],
        ['killed', 143, 15],
        'the end of a program that sends itself SIGTERM',
      );
    },
  },
];
