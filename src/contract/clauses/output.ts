import { PassThrough } from 'node:stream';
import { TRUNCATION_MARKER } from '../../sandbox/capture.ts';
import type { Clause } from '../clause.ts';
import { must, mustEqual, shown } from '../expectations.ts';

const FLOOD_LINES = 250_000;
const FLOOD_LINE_BYTES = 80;
const FLOOD_LIMIT = 10 * 1024;

export const OUTPUT_CLAUSES: readonly Clause[] = [
  {
    id: 'streams-apart',
    promise: 'Standard output and standard error come apart, each in its own order.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        'import sys\nfor n in range(3):\n    print("out", n)\n    print("err", n, file=sys.stderr)',
      );
      mustEqual([ran.stdout, ran.stderr], ['out 0\nout 1\nout 2\n', 'err 0\nerr 1\nerr 2\n'], 'the output');
    },
  },
  {
    id: 'flood',
    promise:
      'A flood is cut and counted and never the end of a program: head, tail and true byte count stay.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        `import sys
line = b'x' * ${FLOOD_LINE_BYTES - 1} + b'\\n'
sys.stdout.buffer.write(b'HEAD\\n')
for _ in range(${FLOOD_LINES / 1000}): sys.stdout.buffer.write(line * 1000)
sys.stdout.buffer.write(b'TAIL\\n')
sys.stderr.write('the end\\n')`,
        { maxOutputBytes: FLOOD_LIMIT },
      );
      const { outcome, exitCode, stdoutBytes, stderrBytes, truncated, stderr } = ran;
      mustEqual(
        { outcome, exitCode, stdoutBytes, stderrBytes, truncated, stderr },
        {
          outcome: 'exited',
          exitCode: 0,
          stdoutBytes: FLOOD_LINES * FLOOD_LINE_BYTES + 10,
          stderrBytes: 8,
          truncated: true,
          stderr: 'the end\n',
        },
        'the result',
      );
      const { stdout } = ran;
      must(stdout.startsWith('HEAD\n'), `the head is ${shown(stdout.slice(0, 40))}`);
      must(stdout.endsWith('\nTAIL\n'), `the tail is ${shown(stdout.slice(-40))}`);
      must(stdout.includes(`\n${TRUNCATION_MARKER}\n`), 'the cut is not marked');
      must(stdout.length < FLOOD_LIMIT + 100, `${stdout.length} characters are kept of ${FLOOD_LIMIT}`);
    },
  },
  {
    id: 'output-live',
    promise: 'Output comes while the program runs: a dialogue with it is possible.',
    async check(context) {
      const box = await context.open();
      const stdin = new PassThrough();
      const ran = await box.python('print("ask", flush=True)\nprint("got", input())', {
        stdin,
        timeoutSec: 10,
        // Fed only by what has come: whoever hands output over at the end waits until the deadline.
        onOutput: ({ text }) => {
          if (text.startsWith('ask')) stdin.end('answer\n');
        },
      });
      mustEqual([ran.outcome, ran.stdout], ['exited', 'ask\ngot answer\n'], 'the dialogue');
    },
  },
  {
    id: 'output-replaced',
    promise: 'Bytes that are not UTF-8 are replaced, and counted as what they are.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        String.raw`import sys; sys.stdout.buffer.write(b'a\xff\xfeb \xf0\x9f\x98\x80 \xe2\x82')`,
      );
      mustEqual(
        [ran.exitCode, ran.stdout, ran.stdoutBytes],
        [0, 'a\uFFFD\uFFFDb 😀 \uFFFD', 12],
        'the output and its count',
      );
    },
  },
  {
    id: 'output-devices',
    promise: 'A program can open /dev/stdout and /dev/stderr.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python(
        'for name in ("stdout", "stderr"):\n    with open("/dev/" + name, "w") as file: file.write("to " + name)',
      );
      mustEqual([ran.stdout, ran.stderr, ran.exitCode], ['to stdout', 'to stderr', 0], 'the output');
    },
  },
];
