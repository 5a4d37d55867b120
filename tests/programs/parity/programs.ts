/** The programs beside this file: how each is run, and what it must come to on every runtime. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecuteOptions, LanguageName, Outcome } from '../../../src/index.ts';

export interface ParityProgram {
  /** Its file; the ending says the language. */
  readonly file: string;
  /** What this run of the file is about, where it has several. */
  readonly about?: string;
  /** Makes what is run of what the file holds, where that is too large to keep. */
  readonly source?: (file: Buffer) => Uint8Array;
  readonly options?: Pick<
    ExecuteOptions,
    'args' | 'env' | 'stdin' | 'files' | 'collect' | 'timeout' | 'maxOutputKb' | 'memoryMb'
  >;
  readonly expected: Expected;
  /** Why it is not compared as a plain process. */
  readonly notPlain?: string;
  /** It meets the memory limit of the sandbox as a whole, which not every host can hold. */
  readonly needsMemoryGroup?: true;
}

/** Exact where it is text, and otherwise what must be in it. */
type Text = string | RegExp;

export interface Expected {
  readonly outcome: Outcome;
  readonly exitCode: number;
  /** Nothing where it is not said. */
  readonly stdout?: Text;
  /** Nothing where it is not said. */
  readonly stderr?: Text;
  readonly truncated?: true;
  /** All that was printed, kept or not. */
  readonly stdoutBytes?: number;
  readonly stderrBytes?: number;
  /** As `result.files` says them in JSON. */
  readonly files?: Readonly<Record<string, FileJson>>;
}

export interface FileJson {
  readonly encoding: 'utf8' | 'base64';
  readonly content: string;
  readonly size: number;
}

const MEGABYTE = 1024 ** 2;
const CUT = '... (output truncated)\n';

export const PARITY_PROGRAMS: readonly ParityProgram[] = [
  ...[0, 1, 2, 3, 77, 125, 126, 127, 128, 129, 137, 143, 192, 193, 200, 255, -1, 256].map((code) =>
    exits('exits-with-its-argument.py', code),
  ),
  ...[0, 5, 126, 130, 256].map((code) => exits('exits-with-its-argument.sh', code)),
  ...[0, 5, 137, -1].map((code) => exits('exits-with-its-argument.mjs', code)),

  ...Object.entries({ HUP: 1, QUIT: 3, ABRT: 6, BUS: 7, FPE: 8, KILL: 9, USR1: 10, SEGV: 11, PIPE: 13 }).map(
    ([name, number]) => signals('signals-itself.py', name, number),
  ),
  ...Object.entries({ ALRM: 14, TERM: 15, XCPU: 24, XFSZ: 25, SYS: 31 }).map(([name, number]) =>
    signals('signals-itself.py', name, number),
  ),
  ...Object.entries({ 'RTMIN+1': 35, RTMAX: 64 }).map(([name, number]) => ({
    ...signals('signals-itself.py', name, number),
    notPlain: 'Node does not tell the real-time signals of its own children',
  })),
  ...Object.entries({ TERM: 15, KILL: 9, SEGV: 11 }).map(([name, number]) =>
    signals('signals-itself.sh', name, number, name),
  ),
  ...Object.entries({ SIGTERM: 15, SIGKILL: 9 }).map(([name, number]) =>
    signals('signals-itself.mjs', name, number, name),
  ),
  {
    file: 'interrupts-itself.py',
    expected: {
      outcome: 'killed',
      exitCode: 130,
      stderr: /^Traceback [\s\S]*main\.py", line 5[\s\S]*\nKeyboardInterrupt\n$/,
    },
  },
  { file: 'aborts.py', expected: { outcome: 'killed', exitCode: 134, stdout: 'before\n' } },

  {
    file: 'raises.py',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stdout: 'before\n',
      stderr:
        /^Traceback \(most recent call last\):\n {2}File "\/workspace\/main\.py", line 10, in <module>\n[\s\S]*\nZeroDivisionError: division by zero\n$/,
    },
  },
  {
    file: 'raises-in-a-handler.py',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stderr: /KeyError: 'missing'\n\nThe above exception[\s\S]*\nBroken: with a cause: ü €\n$/,
    },
  },
  { file: 'exits-with-text.py', expected: { outcome: 'exited', exitCode: 1, stderr: 'no more of this\n' } },
  {
    file: 'has-a-syntax-error.py',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stderr: /^ {2}File "\/workspace\/main\.py", line 2\n[\s\S]*SyntaxError: /,
    },
  },
  {
    file: 'has-a-syntax-error.sh',
    expected: {
      outcome: 'exited',
      exitCode: 2,
      stdout: 'before\n',
      stderr: /^\/workspace\/main\.sh: line 3: syntax error/,
    },
  },
  {
    file: 'has-a-syntax-error.mjs.txt',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stderr: /^file:\/\/\/workspace\/main\.mjs:2\n[\s\S]*SyntaxError: /,
    },
  },
  {
    file: 'throws.mjs',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stdout: 'before\n',
      stderr: /^file:\/\/\/workspace\/main\.mjs:2\n[\s\S]*TypeError: on purpose: ü €\n {4}at inner \(/,
    },
  },
  {
    file: 'rejects.mjs',
    expected: { outcome: 'exited', exitCode: 1, stderr: /RangeError: on purpose\n/ },
  },
  {
    file: 'waits-for-nothing.mjs',
    expected: { outcome: 'exited', exitCode: 13 },
  },
  {
    file: 'sets-its-exit-code.mjs',
    expected: { outcome: 'exited', exitCode: 3, stdout: 'later\nexit 3\n' },
  },

  {
    file: 'floods-stdout.py',
    options: { maxOutputKb: 8 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      stdout: between('line 000000\n', 'line 019999\n'),
      stdoutBytes: 240_000,
    },
  },
  {
    file: 'floods-stderr.py',
    options: { maxOutputKb: 8 },
    expected: {
      outcome: 'exited',
      exitCode: 3,
      truncated: true,
      stderr: between('line 000000\n', 'line 019999\n'),
      stderrBytes: 240_000,
    },
  },
  {
    file: 'floods-both.py',
    options: { maxOutputKb: 2 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      stdout: `${'o'.repeat(1024)}\n${CUT}${'o'.repeat(1024)}`,
      stderr: `${'e'.repeat(1024)}\n${CUT}${'e'.repeat(1024)}`,
      stdoutBytes: 3 * MEGABYTE,
      stderrBytes: 3 * MEGABYTE,
    },
  },
  {
    file: 'floods-stdout.mjs',
    options: { maxOutputKb: 4 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      stdout: between('line 0\n', 'line 19999\n'),
      stdoutBytes: 208890,
    },
  },
  {
    file: 'floods-stdout.sh',
    options: { maxOutputKb: 4 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      stdout: between('the same line\n', 'the same line\n'),
      stdoutBytes: 1_400_000,
    },
  },
  {
    file: 'prints-one-endless-line.py',
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      stdout: between('0123456789abcdef', '0123456789abcdef'),
      stdoutBytes: 5 * MEGABYTE,
    },
  },
  {
    file: 'prints-invalid-utf-8.py',
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: '\ufffd\ufffd ok \ufffd( \ufffd\ufffd\ufffd \ufffd\n\ufeff end \ufffd',
      stderr: '\ufffd\n',
    },
  },
  {
    file: 'prints-wide-characters.py',
    options: { maxOutputKb: 1 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      truncated: true,
      // 512 bytes on either side, and three for each character.
      stdout: `${'€'.repeat(170)}\n${CUT}${'€'.repeat(170)}`,
      stdoutBytes: 3000,
    },
  },
  {
    file: 'prints-nul-bytes.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'a\0b\n\0\0\n\x1b[31mred\x07\r\n' },
  },

  {
    file: 'prints-until-its-time-is-over.py',
    options: { timeout: 2 },
    expected: timedOut('first\nno line end', 2),
  },
  {
    file: 'prints-until-its-time-is-over.sh',
    options: { timeout: 2 },
    expected: timedOut('first\nno line end', 2, 'a complaint\n'),
  },
  {
    file: 'prints-until-its-time-is-over.mjs',
    options: { timeout: 2 },
    expected: timedOut('first\n', 2),
  },
  {
    file: 'ignores-the-end-of-its-time.py',
    options: { timeout: 2.5 },
    expected: timedOut('ignoring\n', 2.5),
  },
  {
    file: 'says-goodbye-when-its-time-is-over.py',
    options: { timeout: 2 },
    expected: timedOut('ready\ngoodbye after SIGTERM\n', 2),
  },
  {
    file: 'prints-after-the-end-of-its-time.py',
    options: { timeout: 2 },
    expected: timedOut('ready\nnot yet\n', 2),
  },

  {
    file: 'recurses-too-deep.py',
    expected: {
      outcome: 'exited',
      exitCode: 1,
      stderr: /\[Previous line repeated \d+ more times\]\nRecursionError: /,
    },
  },
  {
    file: 'recurses-too-deep.mjs',
    expected: { outcome: 'exited', exitCode: 3, stdout: 'RangeError Maximum call stack size exceeded\n' },
  },
  { file: 'overflows-its-stack.py', expected: { outcome: 'killed', exitCode: 139, stdout: 'before\n' } },
  {
    file: 'takes-too-much-memory.py',
    expected: { outcome: 'out_of_memory', exitCode: 137, stdout: 'taking\n' },
    needsMemoryGroup: true,
  },
  {
    file: 'fills-the-disk.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'ENOSPC True\n4\n' },
    notPlain: 'nothing limits its disk',
  },
  { file: 'wants-too-many-files.py', expected: { outcome: 'exited', exitCode: 0, stdout: 'EMFILE\n' } },

  {
    file: 'has-crlf-line-ends.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'first\na\nb\nlast\n' },
  },
  {
    file: 'has-crlf-line-ends.sh',
    options: { args: ['given'] },
    expected: { outcome: 'exited', exitCode: 0, stdout: 'first\r\ngiven\r\n' },
  },
  {
    file: 'starts-with-a-byte-order-mark.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'after the mark: ü\n' },
  },
  {
    file: 'holds-a-nul-byte.py',
    expected: { outcome: 'exited', exitCode: 1, stderr: /SyntaxError: |null bytes/ },
  },
  { file: 'is-in-latin-1.py', expected: { outcome: 'exited', exitCode: 0, stdout: 'café 2\n' } },
  {
    file: 'is-not-utf-8.py',
    expected: { outcome: 'exited', exitCode: 1, stderr: /SyntaxError: .*main\.py on line 2/ },
  },
  {
    file: 'ends-without-a-line-end.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'no line end\nafter it\n' },
  },
  { file: 'is-empty.py', expected: { outcome: 'exited', exitCode: 0 } },
  {
    file: 'tells-the-size-of-its-source.py',
    about: '5 MB of source',
    source: (file) => withComments(file, 5 * MEGABYTE),
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: sizeAndHash(withComments(readProgram('tells-the-size-of-its-source.py'), 5 * MEGABYTE)),
    },
  },

  reads('nothing given', undefined),
  reads('an empty text', ''),
  reads('some text', 'a\nb'),
  reads('bytes that are no text', Uint8Array.of(0, 255, 10, 4, 26)),
  reads('1 MB', 'x'.repeat(MEGABYTE)),
  {
    file: 'reads-all-of-its-input.mjs',
    options: { stdin: 'x'.repeat(MEGABYTE) },
    expected: { outcome: 'exited', exitCode: 0, stdout: `${MEGABYTE}\n` },
  },
  {
    file: 'reads-all-of-its-input.sh',
    options: { stdin: 'one\ntwo\nno line end' },
    expected: { outcome: 'exited', exitCode: 0, stdout: '<one><two>no line end|\n0\n' },
  },
  {
    file: 'ignores-its-input.py',
    options: { stdin: 'x'.repeat(MEGABYTE) },
    expected: { outcome: 'exited', exitCode: 0, stdout: 'did not read\n' },
  },
  {
    file: 'prints-its-arguments.py',
    options: { args: ['', ' ', '--', '-c', '$(id)', 'ü€', '\n', '*', '\'"\\'] },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: /^\['\/workspace\/main\.py', '', ' ', '--', '-c', '\$\(id\)', 'ü€', '\\n', '\*', /,
    },
  },
  {
    file: 'prints-its-arguments.sh',
    options: { args: ['', '--', '$HOME', '`id`', 'ü'] },
    expected: { outcome: 'exited', exitCode: 0, stdout: '</workspace/main.sh><><--><$HOME><`id`><ü>' },
  },
  {
    file: 'prints-its-variables.py',
    options: { env: { GIVEN: 'ü $HOME\n"', EMPTY: '', PYTHONHASHSEED: '0' } },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: [
        `EMPTY=''`,
        `GIVEN='ü $HOME\\n"'`,
        `HOME='/workspace'`,
        `LANG='C.UTF-8'`,
        `PWD='/workspace'`,
        `PYTHONHASHSEED='0'`,
        `TMPDIR='/tmp'\n`,
      ].join('\n'),
    },
  },
  {
    file: 'turns-files-around.py',
    options: {
      files: {
        'in/a.txt': 'abc',
        'in/deep/er/bytes': Uint8Array.of(0, 255, 128),
        'in/ü €': '',
        'in/old': 'x',
      },
      collect: [
        'out/a.txt',
        'out/deep/er/bytes',
        'out/ü €',
        'out/link',
        'out/folder',
        'out/missing',
        'in/old',
      ],
    },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      files: {
        'out/a.txt': { encoding: 'utf8', content: 'cba', size: 3 },
        'out/deep/er/bytes': { encoding: 'base64', content: 'gP8A', size: 3 },
        'out/ü €': { encoding: 'utf8', content: '', size: 0 },
        'in/old': { encoding: 'utf8', content: 'x', size: 1 },
      },
    },
  },
  {
    file: 'lists-where-it-is.py',
    options: { files: { 'data/b': '1', 'data/a': '2', '.hidden': '3' } },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: [
        '/workspace /workspace/main.py /workspace/main.py /workspace',
        `. ['data'] ['.hidden', 'main.py']`,
        `./data [] ['a', 'b']`,
        '0o22\n',
      ].join('\n'),
    },
  },
  {
    file: 'lists-where-it-is.sh',
    options: { files: { '.hidden': '', file: '' } },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: '/workspace\n/workspace/main.sh /workspace /tmp\n.hidden\nfile\nmain.sh\n',
    },
  },

  { file: 'waits-for-children.py', expected: { outcome: 'exited', exitCode: 0, stdout: '0\n7\n-9\n-6\n' } },
  { file: 'leaves-an-orphan.py', expected: { outcome: 'exited', exitCode: 0, stdout: 'done\n' } },
  {
    file: 'leaves-a-child-that-keeps-its-output.py',
    expected: { outcome: 'exited', exitCode: 4, stdout: 'done\n' },
  },
  {
    file: 'leaves-a-child-that-keeps-its-output.sh',
    expected: { outcome: 'exited', exitCode: 0, stdout: 'done\n' },
  },
  { file: 'adopts-nobody.py', expected: { outcome: 'exited', exitCode: 0, stdout: 'reaped\n' } },
  {
    file: 'runs-threads.py',
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: '[0, 1, 4, 9, 16, 25, 36, 49]\n',
      stderr: 'broken ZeroDivisionError\n',
    },
  },
  {
    file: 'runs-a-worker.mjs',
    expected: { outcome: 'exited', exitCode: 0, stdout: '42\nworker ended with 0\n' },
  },
  {
    file: 'runs-programs.py',
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: /^3 'in\\n' 'err\\n'\n-9\n\[Errno 2\][^\n]*'no-such-program'\nstraight through\n$/,
      stderr: 'complaint\n',
    },
  },
  {
    file: 'runs-programs.mjs',
    expected: { outcome: 'exited', exitCode: 0, stdout: '3 in\n err\n\nSIGKILL\n' },
  },
  {
    file: 'writes-a-lot-on-both-sides-of-a-fork.py',
    options: { maxOutputKb: 1024 },
    expected: {
      outcome: 'exited',
      exitCode: 0,
      stdout: `${['a', 'c', 'p'].map((letter) => letter.repeat(300_000)).join('\n')}\n`,
    },
  },
  {
    file: 'closes-its-output.py',
    expected: { outcome: 'exited', exitCode: 6, stdout: 'before\n', stderr: 'complaint\n' },
  },
  {
    file: 'writes-to-its-closed-output.py',
    expected: { outcome: 'exited', exitCode: 1, stderr: /OSError: \[Errno 9\] Bad file descriptor\n$/ },
  },
  { file: 'exits-at-once.py', expected: { outcome: 'exited', exitCode: 5, stdout: 'printed\n' } },
  {
    file: 'takes-turns-between-its-outputs.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: everySecond(0), stderr: everySecond(1) },
  },
  {
    file: 'cleans-up-on-its-way-out.py',
    expected: { outcome: 'exited', exitCode: 2, stdout: 'first\nlast\n' },
  },
  {
    file: 'cleans-up-on-its-way-out.sh',
    expected: { outcome: 'exited', exitCode: 1, stdout: 'before\ntrap after 1\n' },
  },
  {
    file: 'becomes-another-program.py',
    expected: { outcome: 'exited', exitCode: 9, stdout: 'became another\n' },
  },
  {
    file: 'runs-a-missing-command.sh',
    expected: {
      outcome: 'exited',
      exitCode: 126,
      stdout: 'status 127\n',
      stderr:
        /line 1: no-such-command: command not found\n[\s\S]*line 3: \/etc\/passwd: Permission denied\n$/,
    },
  },
  {
    file: 'says-what-it-is.py',
    expected: { outcome: 'exited', exitCode: 0, stdout: /^\(3, \d+, \d+\) \d utf-8 False utf-8\n$/ },
  },
];

/** The bytes of a program's file. */
export function readProgram(file: string): Buffer {
  return readFileSync(join(import.meta.dirname, file));
}

export function languageOf({ file }: ParityProgram): LanguageName {
  if (file.endsWith('.py')) return 'python';
  return file.endsWith('.sh') ? 'shell' : 'javascript';
}

function exits(file: string, code: number): ParityProgram {
  const exitCode = code & 255;
  const killed = exitCode > 128 && exitCode <= 192;
  return {
    file,
    about: `exit(${code})`,
    options: { args: [String(code)] },
    expected: { outcome: killed ? 'killed' : 'exited', exitCode },
  };
}

function signals(file: string, name: string, number: number, argument = String(number)): ParityProgram {
  return {
    file,
    about: name,
    options: { args: [argument] },
    expected: { outcome: 'killed', exitCode: 128 + number, stdout: 'before\n' },
  };
}

function timedOut(stdout: string, timeoutSec: number, before = ''): Expected {
  const stderr = `${before}Execution timed out after ${timeoutSec} seconds.\n`;
  return { outcome: 'timed_out', exitCode: -1, stdout, stderr };
}

function reads(about: string, stdin: string | Uint8Array | undefined): ParityProgram {
  return {
    file: 'reads-all-of-its-input.py',
    about,
    options: stdin === undefined ? {} : { stdin },
    expected: { outcome: 'exited', exitCode: 0, stdout: sizeAndHash(Buffer.from(stdin ?? '')) },
  };
}

function withComments(file: Buffer, size: number): Buffer {
  const line = Buffer.from(`# ${'ü'.repeat(38)}\n`);
  const lines = Buffer.concat(Array(Math.ceil((size - file.length) / line.length)).fill(line));
  return Buffer.concat([lines, file]);
}

function sizeAndHash(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}\n`;
}

/** A cut text with this beginning and this end. */
function between(head: string, tail: string): RegExp {
  return new RegExp(`^${head}.*\n${CUT.replaceAll(/[.()]/g, '\\$&')}.*${tail}$`, 's');
}

function everySecond(first: number): string {
  return Array.from({ length: 50 }, (_, index) => `${first + 2 * index}\n`).join('');
}
