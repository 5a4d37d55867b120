import { Readable } from 'node:stream';
import { newNonce } from '../box.ts';
import type { Clause } from '../clause.ts';
import { must, mustEqual, shown } from '../expectations.ts';

const AWKWARD_ARGUMENTS = [
  'two words',
  '',
  '-c',
  '--help',
  '"double" \'single\'',
  'line\nbreak',
  '$HOME `id` $(id) * ~ ; & | < >',
  '\\ back\\slash \\n',
  'é 漢字 😀',
];

/** What a Python interpreter may set for itself. */
const OF_THE_INTERPRETER = ['LC_CTYPE'];

const DIGEST = 'import hashlib, sys\nprint(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())';
const ZEROS_SHA256 = '30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58';

export const INPUT_CLAUSES: readonly Clause[] = [
  {
    id: 'stdin-bytes',
    promise: 'Input that is given as bytes is what the program reads, to the last of them.',
    async check(context) {
      const box = await context.open();
      const echo = await box.python('import sys; print(list(sys.stdin.buffer.read()))', {
        stdin: Uint8Array.of(0, 10, 255, 13, 10),
      });
      mustEqual(echo.stdout, '[0, 10, 255, 13, 10]\n', 'what was read');
      const long = await box.python(DIGEST, { stdin: new Uint8Array(1024 * 1024) });
      mustEqual(long.stdout.trim(), ZEROS_SHA256, 'the hash of 1 MB of zeros');
    },
  },
  {
    id: 'stdin-stream',
    promise: 'Input that is given as a stream is what the program reads, with its end.',
    async check(context) {
      const box = await context.open();
      const chunks = Array.from({ length: 16 }, () => Buffer.alloc(64 * 1024));
      const ran = await box.python(DIGEST, { stdin: Readable.from(chunks), timeoutSec: 10 });
      mustEqual([ran.outcome, ran.stdout.trim()], ['exited', ZEROS_SHA256], 'the hash of 1 MB of zeros');
    },
  },
  {
    id: 'stdin-empty',
    promise: 'Standard input is open and at its end when none is given.',
    async check(context) {
      const box = await context.open();
      const ran = await box.python('import sys; print(repr(sys.stdin.read()))', { timeoutSec: 5 });
      mustEqual([ran.outcome, ran.stdout], ['exited', "''\n"], 'what was read');
    },
  },
  {
    id: 'arguments-verbatim',
    promise: 'Arguments arrive as they were given: no shell, no splitting, no options of ours.',
    async check(context) {
      const box = await context.open();
      const seen = await box.ask<string[]>('print(json.dumps(sys.argv[1:]))', { args: AWKWARD_ARGUMENTS });
      mustEqual(seen, AWKWARD_ARGUMENTS, 'the list of arguments');
    },
  },
  {
    id: 'environment-exact',
    promise: 'The environment is what was given, with PATH, HOME, PWD, LANG and TMPDIR, and nothing else.',
    async check(context) {
      const box = await context.open();
      const given = { GLOVEBOX_CONTRACT: ' a "b" $c\né ', GLOVEBOX_EMPTY: '' };
      const seen = await box.ask<Record<string, string>>('print(json.dumps(dict(os.environ)))', {
        env: given,
      });
      const names = Object.keys(seen).filter((name) => !OF_THE_INTERPRETER.includes(name));
      mustEqual(
        names.sort(),
        [...Object.keys(given), 'PATH', 'HOME', 'PWD', 'LANG', 'TMPDIR'].sort(),
        'the list of names',
      );
      mustEqual(
        [seen['GLOVEBOX_CONTRACT'], seen['GLOVEBOX_EMPTY']],
        Object.values(given),
        'the value of the given variables',
      );
      const usable = await box.ask<boolean[]>(
        `usable = [os.access(os.environ[name], os.W_OK) for name in ('HOME', 'TMPDIR')]
print(json.dumps(usable + [os.path.samefile(os.environ['PWD'], '.')]))`,
      );
      mustEqual(
        usable,
        [true, true, true],
        'whether HOME and TMPDIR can be written to and PWD is where it is',
      );
    },
  },
  {
    id: 'environment-hidden',
    promise: "No variable of the host's process is in any environment that the program can see.",
    async check(context) {
      const box = await context.open();
      const [name, value] = [`GLOVEBOX_CANARY_${newNonce()}`, newNonce()];
      process.env[name] = value;
      try {
        const seen = await box.ask<string[]>(
          `word = sys.stdin.read().encode()
seen = [name for name, value in os.environb.items() if word in value]
for pid in filter(str.isdigit, os.listdir('/proc') if os.path.isdir('/proc') else []):
    try:
        with open('/proc/' + pid + '/environ', 'rb') as file:
            if word in file.read(): seen.append(pid)
    except OSError: pass
print(json.dumps([str(where) for where in seen]))`,
          { stdin: Buffer.from(value) },
        );
        mustEqual(seen, [], 'where the canary was seen: that');
      } finally {
        delete process.env[name];
      }
    },
  },
  {
    id: 'descriptors',
    promise: 'A program has its three standard descriptors and no other.',
    async check(context) {
      const box = await context.open();
      const open = await box.ask<number[]>(
        `open_now = []
for descriptor in range(4096):
    try: os.fstat(descriptor)
    except OSError: continue
    open_now.append(descriptor)
print(json.dumps(open_now))`,
      );
      mustEqual(open, [0, 1, 2], 'the list of open descriptors');
    },
  },
  {
    id: 'no-terminal',
    promise: 'A program has no controlling terminal.',
    async check(context) {
      const box = await context.open();
      const seen = await box.ask<{ terminal: boolean; streams: boolean[] }>(
        `try: terminal = os.isatty(os.open('/dev/tty', os.O_RDWR))
except OSError: terminal = False
print(json.dumps({'terminal': terminal, 'streams': [os.isatty(n) for n in range(3)]}))`,
      );
      must(!seen.terminal, '/dev/tty can be opened');
      mustEqual(seen.streams, [false, false, false], 'whether its streams are terminals');
    },
  },
  {
    id: 'working-folder',
    promise: 'A program starts in the workspace, where its files are and where it may write.',
    async check(context) {
      const box = await context.open();
      await box.writeFile('given.txt', 'given');
      const seen = await box.ask<[string, boolean]>(
        `with open('made.txt', 'w') as file: file.write(open('given.txt').read() + ', made')
print(json.dumps([open('made.txt').read(), os.path.samefile(os.getcwd(), os.path.dirname(__file__))]))`,
      );
      mustEqual(seen, ['given, made', true], 'what the program found');
      const { content } = await box.readFile('made.txt');
      must(content === 'given, made', `the file that it made reads ${shown(content)}`);
    },
  },
];
