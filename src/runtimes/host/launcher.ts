/**
 * The last thing that runs before a program: a few lines of bash that do what `node:child_process` cannot.
 * They close every inherited descriptor, and then wait for orders: which cgroups to enter, which limits to
 * set and which program to become. Everything else about a sandbox can be made while bash starts.
 */
import { SandboxError } from '../../errors.ts';

/** Where the launcher reports, and where bubblewrap goes on reporting. */
export const STATUS_FD = 3;

/** Where the launcher is told that its orders are written, and given variables; it ends when we do. */
export const ORDERS_FD = 4;

/** One thing to do before the program starts. */
export type LaunchStep =
  | { readonly joinCgroup: string }
  | { readonly limit: RlimitName; readonly value: number }
  | { readonly openFile: string; readonly as: number }
  /** Mounts a file system in memory, with what `mount` takes as options; the first step, or none. */
  | { readonly mountMemory: string; readonly options: string; readonly with: string }
  /** Mounts all that a table in the form of `fstab` names, by way of a file, which is made. */
  | { readonly mountTable: string; readonly file: string; readonly with: string }
  /** Shows a folder in another place, which is made. */
  | { readonly bind: string; readonly at: string; readonly with: string }
  /** Makes folders that every user may enter, and what is missing above them. */
  | { readonly makeFolders: readonly string[] }
  /** Writes a file that every user may read. */
  | { readonly writeFile: string; readonly text: string }
  /**
   * Standard input is a socket: a pipe is put in its place, with a process that fills it. `owner` (`uid:gid`,
   * empty for ourselves) is who may open `/dev/stdin` again.
   */
  | { readonly pipeInputFor: string }
  /** Puts a pipe in place of standard input that nobody writes to yet: see `openInputPipe`. */
  | { readonly pipeInput: true };

/** The resource limits that bash's `ulimit` sets, by its option; the units are bash's. */
const ULIMIT_OPTION = {
  coreBlocks: '-c',
  dataKb: '-d',
  fileSizeKb: '-f',
  openFiles: '-n',
  cpuSec: '-t',
} as const;

export type RlimitName = keyof typeof ULIMIT_OPTION;

/** What to become, and what to do before. */
export interface Orders {
  readonly steps: readonly LaunchStep[];
  /** Whom it becomes before, in no other group. */
  readonly user?: { readonly uid: number; readonly gid: number; readonly with: string };
  readonly program: readonly string[];
  /**
   * The program's variables, where the launcher becomes the program itself; it then says that it does. They
   * are not on any command line, where other users of the host could read them.
   */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * A constant text: all that varies comes in as arguments and, quoted, in the orders. A limit that cannot be
 * raised to the wanted value because the host's own is lower already holds more than was wanted.
 *
 * What fills standard input is nobody's child, so that the program has none that it did not start; as the first process
 * of a namespace we would be given it back. Then it is ours from the beginning: bash, which waits for one child by
 * waiting for any, would sometimes wait for it until its end.
 *
 * While it waits for its orders, descriptor 0 is what the program will have: `read <&4` would put the orders there.
 */
const SCRIPT = `
fail() { printf '{"failed":"%s"}\\n' "$1" >&3; exit 125; }
glovebox_environment() { :; }
glovebox_mount=
if [ "$1" = memory ]; then
  "$2" -t tmpfs -o "$3" glovebox "$4" & glovebox_mount=$!
  shift 4
fi
[ -e /dev/fd/0 ] || fail "/dev/fd is missing, so that nothing tells what is open"
for glovebox_fd in /dev/fd/*; do
  glovebox_fd=\${glovebox_fd##*/}
  case $glovebox_fd in 0|1|2|3|4) ;; *) eval "exec $glovebox_fd>&-" ;; esac
done
[ -z "$glovebox_mount" ] || wait "$glovebox_mount" || fail "could not mount a file system"
while [ "$1" != -- ]; do
  case $1 in
    bind) (umask 022; exec mkdir -p "$4") && "$2" --bind "$3" "$4" || fail "could not show a folder"; shift 4 ;;
    table)
      (umask 022; printf '%s' "$4" >"$3" && "$2" --all --fstab "$3") || fail "could not mount what shall be seen"
      shift 4 ;;
    folders) (umask 022; exec mkdir -p "\${@:3:$2}") || fail "could not make folders"; shift $(($2 + 2)) ;;
    file) (umask 022; printf '%s' "$3" >"$2") || fail "could not write a file"; shift 3 ;;
    orders)
      printf '{"ready":true}\\n' >&3
      IFS= read -r -u 4 glovebox_fd || exit 0
      . "$2" ;;
    cgroup) echo 0 >"$2" || fail "could not enter a cgroup"; shift 2 ;;
    limit)
      ulimit "$2" "$3" 2>/dev/null || [ "$(ulimit -H "$2")" -le "$3" ] || fail "could not set ulimit $2"
      shift 3 ;;
    open) eval "exec $2<\\"\\$3\\"" || fail "could not open a control file"; shift 3 ;;
    input)
      exec 9<&0
      if [ $$ = 1 ]; then
        exec 0< <(exec cat <&9 9<&- 2>/dev/null 3>&-)
      else
        exec 0< <(cat <&9 9<&- 2>/dev/null 3>&- &)
        wait $!
      fi
      exec 9<&-
      [ -z "$2" ] || chown "$2" /dev/fd/0 || fail "could not hand standard input over"
      shift 2 ;;
    pipe) exec 0< <(:); wait $!; shift ;;
    status) printf '{"started":true}\\n' >&3; exec 3>&-; shift ;;
    *) fail "unknown step" ;;
  esac
done
shift
glovebox_environment
exec "$@"
`;

/**
 * The command line of a launcher that does `steps` at once, says that it is ready and then waits for the orders
 * in `file`. Pure.
 */
export function launcherArguments(bash: string, steps: readonly LaunchStep[], file: string): string[] {
  // Neither start-up files nor functions and options from the environment.
  const beginning = [bash, '--norc', '--noprofile', '-p', '-c', SCRIPT, 'glovebox'];
  return [...beginning, ...steps.flatMap(stepArguments), 'orders', file];
}

/** Orders as the launcher takes them. */
export interface WrittenOrders {
  /** For the file that it looks into. */
  readonly text: string;
  /** For its descriptor, after a line that sends it off: variables may be secrets, and the file may be on a disk. */
  readonly variables: string;
}

/**
 * The orders as bash reads them. The program's variables come last, when everything is held: a library that they
 * preload, or an option for bash in them, would otherwise come first. Pure; throws `INPUT_INVALID` for a NUL.
 */
export function writeOrders({ steps, user, program: wanted, environment }: Orders): WrittenOrders {
  // Enters nothing: it sets both ids and drops the supplementary groups (nsenter(1), --setgid).
  const drop = user === undefined ? [] : [user.with, `--setgid=${user.gid}`, `--setuid=${user.uid}`];
  const program = [...drop, ...wanted];
  const before = steps.flatMap(stepArguments);
  if (environment === undefined) {
    return { text: `set -- ${quoted([...before, '--', ...program])}\nexec 4<&-\n`, variables: '' };
  }
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const isOfBash = (assignment: string): boolean => OF_BASH.test(assignment) || !IDENTIFIER.test(assignment);
  const exported = assignments.filter((assignment) => !isOfBash(assignment));
  const words = [
    ...[...before, 'status', '--', '/usr/bin/env', '-u', 'SHLVL', '-u', 'OLDPWD', '-u', '_'],
    ...[...assignments.filter(isOfBash), ...program],
  ];
  refuseNul(exported);
  return {
    text: `set -- ${quoted(words)}\n${READ_VARIABLES}`,
    variables: exported.map((assignment) => `${assignment}\0`).join(''),
  };
}

const READ_VARIABLES = `
glovebox_environment() {
  while IFS= read -r -d '' glovebox_fd <&4; do export "$glovebox_fd"; done
  exec 4<&-
}
`;

const IDENTIFIER = /^[A-Za-z_]\w*=/;

/** Variables that bash would not take as they are: its own, and those of the locale, which it tries to follow. */
const OF_BASH =
  /^(?:BASH\w*|COMP_\w*|DIRSTACK|E?UID|EPOCH\w*|FUNCNAME|GROUPS|HIST\w*|IFS|LANG|LANGUAGE|LC_\w*|LINENO|OLDPWD|OPT\w*|PIPESTATUS|POSIXLY_CORRECT|PPID|PS\d|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|_|glovebox_\w+)=/;

/** Words that bash reads back exactly as they are. */
function quoted(words: readonly string[]): string {
  refuseNul(words);
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}

/** Throws `INPUT_INVALID` for a NUL, which ends a word for the kernel. */
export function refuseNul(words: readonly string[]): void {
  if (!words.some((word) => word.includes('\0'))) return;
  throw new SandboxError('INPUT_INVALID', 'A variable or an argument holds a NUL character.', {
    hint: 'Leave it out.',
  });
}

function stepArguments(step: LaunchStep): string[] {
  if ('joinCgroup' in step) return ['cgroup', step.joinCgroup];
  if ('limit' in step) return ['limit', ULIMIT_OPTION[step.limit], String(step.value)];
  if ('pipeInputFor' in step) return ['input', step.pipeInputFor];
  if ('pipeInput' in step) return ['pipe'];
  if ('mountMemory' in step) return ['memory', step.with, step.options, step.mountMemory];
  if ('mountTable' in step) return ['table', step.with, step.file, step.mountTable];
  if ('makeFolders' in step) return ['folders', String(step.makeFolders.length), ...step.makeFolders];
  if ('writeFile' in step) return ['file', step.writeFile, step.text];
  if ('bind' in step) return ['bind', step.with, step.bind, step.at];
  return ['open', String(step.as), step.openFile];
}
