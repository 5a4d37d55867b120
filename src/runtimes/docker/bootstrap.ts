/**
 * What every container starts with: a few lines of shell that wait on standard input for orders, write the
 * first files, and then become the program. So neither code nor arguments nor variables are on a command line
 * or in the engine's records, a container can be started before its program is known, and what is left on
 * standard input is the program's own.
 */
import { shellWord } from '../host/shellWord.ts';

/** The first line on standard output when all is in place and the program is about to take over. */
export const STARTED = 'glovebox: started';

/**
 * A constant text for any POSIX shell. `read` takes no byte too many from a pipe (POSIX, `read`), and neither
 * does `dd` with whole blocks: everything that is sent is padded to blocks. The first line is the number of
 * blocks that the orders take.
 */
export const BOOTSTRAP = `
fail() { printf 'glovebox: failed\\n'; printf '%s\\n' "$1" >&2; exit 125; }
take() { dd bs="$1" iflag=fullblock count="$2" 2>/dev/null; }
put() { take "$2" "$3" | head -c "$4" >"$1" || fail "cannot write $1"; }
env=$(command -v env) && command -v dd >/dev/null && command -v head >/dev/null || fail 'env, dd or head is missing'
IFS= read -r blocks || exit 125
eval "$(take ${512} "$blocks")"
`;

const BLOCK = 512;

/** Most programs are shorter. */
const SHORT_BYTES = 16 * 1024;

/** Fewer and larger steps for what is large. */
const LARGE_BLOCK = 64 * 1024;

export interface FirstOrders {
  /** By path relative to the working folder, which is the workspace. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Variables of the container that are not the program's. */
  readonly unset: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly argv: readonly [string, ...string[]];
  /** Resource limits that the shell sets, as commands. */
  readonly limits: readonly string[];
  /** Whether output goes through pipes of the container's own, see {@link PIPES}. */
  readonly pipes: boolean;
  /** What becomes the first process, and starts the program. */
  readonly first?: { readonly program: Uint8Array; readonly arguments: readonly string[] };
}

/**
 * A kernel in user space may take only a part of what is written to a pipe of the host's when that is full, even
 * from a program that is ready to wait (gVisor does, and an unbuffered `print` of Python then loses the rest).
 * Pipes of its own it fills to the end. So the program writes to those, and `cat`, which looks at what was taken,
 * passes it on. This shell then is the program's parent and hands its code on; a child that the program left
 * behind may hold the pipes open for a second at most. The engine's init sends signals to all of them, which only
 * the program heeds. It ends no process but those that it started.
 */
const PIPES = `
through_pipes() {
  pipe=/dev/shm/.glovebox-$$
  mkfifo "$pipe.1" "$pipe.2" || fail 'cannot make a pipe'
  ( trap '' TERM INT QUIT HUP; exec cat <"$pipe.1" ) & first=$!
  ( trap '' TERM INT QUIT HUP; exec cat <"$pipe.2" >&2 ) & second=$!
  exec 5>"$pipe.1" 6>"$pipe.2" 2>/dev/null
  rm -f "$pipe.1" "$pipe.2"
  trap : TERM INT
  ( exec "$@" >&5 2>&6 5>&- 6>&- )
  code=$?
  exec 5>&- 6>&-
  ( sleep 1; kill -9 "$first" "$second" ) >/dev/null & guard=$!
  wait "$first" "$second"
  kill -9 "$guard"
  exit $code
}
`;

/** The bytes that {@link BOOTSTRAP} reads; the program's own input may follow. Throws `INPUT_INVALID` for a NUL. */
export function writeOrders(orders: FirstOrders): Buffer {
  const { files, unset, environment, argv, limits, pipes, first } = orders;
  const folders = new Set([...files.keys()].flatMap(parentFolders));
  const sent = new Map([...files].filter(([, content]) => !isShortText(content)));
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const ours = assignments.filter((assignment) => OF_THE_SHELL.test(assignment));
  const lines = [
    ...[...folders].map((folder) => `mkdir -p -- ${shellWord(folder)} || fail 'cannot make a folder'`),
    ...[...files].map(([path, content]) => {
      const { byteLength } = content;
      const word = shellWord(`./${path}`);
      return sent.has(path)
        ? `put ${word} ${blockFor(byteLength)} ${blocksOf(byteLength)} ${byteLength}`
        : `printf '%s' ${shellWord(Buffer.from(content).toString('latin1'))} >${word} || fail "cannot write "${word}`;
    }),
    // Some of them may not be set, or not be this shell's to unset.
    ...unset.map((name) => `unset ${name} 2>/dev/null || :`),
    ...assignments
      .filter((assignment) => !OF_THE_SHELL.test(assignment))
      .map((assignment) => `export ${shellWord(assignment)}`),
    ...limits,
    ...(pipes ? [PIPES] : []),
    ...(first === undefined ? [] : placeFirst(first.program)),
    `printf '%s\\n' '${STARTED}'`,
    `${pipes ? 'through_pipes' : 'exec'} ${first === undefined ? '' : firstCommand(first.arguments)}"$env" -u SHLVL -u OLDPWD -u PWD -u _ ${[...ours, ...argv].map(shellWord).join(' ')}`,
  ];
  const text = padded(Buffer.from(`${lines.join('\n')}\n`), '\n');
  const contents = [...sent.values(), ...(first === undefined ? [] : [first.program])].map((content) =>
    padded(content, '\0', blockFor(content.byteLength)),
  );
  return Buffer.concat([Buffer.from(`${text.length / BLOCK}\n`), text, ...contents]);
}

/** It has lost its name before it runs: nothing of it lies about for a program. */
function placeFirst(program: Uint8Array): string[] {
  const file = '/dev/shm/.glovebox-init';
  const { byteLength } = program;
  return [
    `put ${file} ${blockFor(byteLength)} ${blocksOf(byteLength)} ${byteLength}`,
    `chmod 500 ${file} && exec 3<${file} && rm -f ${file} || fail 'cannot keep the first process'`,
  ];
}

/** Only a shell knows where `env` is: to that of busybox it is no file. */
function firstCommand(words: readonly string[]): string {
  return ['/proc/self/fd/3', ...[...words, '/bin/sh', '-c', 'exec "$0" "$@"'].map(shellWord), ''].join(' ');
}

/** What a shell of any kind writes by itself, without a process for it: on gVisor each takes tens of milliseconds. */
function isShortText(content: Uint8Array): boolean {
  return content.byteLength <= SHORT_BYTES && content.every((byte) => byte > 0 && byte < 128);
}

/** Variables that shells set, follow or refuse to have set: they are handed over when no shell is left. */
const OF_THE_SHELL =
  /^(?:BASH\w*|COMP_\w*|DIRSTACK|E?UID|ENV|EPOCH\w*|FUNCNAME|GROUPS|HIST\w*|IFS|LANG|LANGUAGE|LC_\w*|LINENO|OLDPWD|OPT\w*|PATH|PIPESTATUS|POSIXLY_CORRECT|PPID|PS\d|PWD|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|_|env|blocks)=/;

function blockFor(bytes: number): number {
  return bytes < LARGE_BLOCK ? BLOCK : LARGE_BLOCK;
}

function blocksOf(bytes: number, block: number = blockFor(bytes)): number {
  return Math.ceil(bytes / block);
}

function padded(content: Uint8Array, filler: string, block: number = BLOCK): Buffer {
  const missing = blocksOf(content.byteLength, block) * block - content.byteLength;
  return Buffer.concat([content, Buffer.alloc(missing, filler)]);
}

function parentFolders(path: string): string[] {
  const end = path.lastIndexOf('/');
  return end < 0 ? [] : [`./${path.slice(0, end)}`];
}
