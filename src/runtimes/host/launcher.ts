/**
 * The last thing that runs before a program: a few lines of bash that do what `node:child_process` cannot.
 * They close every inherited descriptor, enter the cgroups and set the limits, and then become the program.
 */

/** Where the launcher reports, and where bubblewrap goes on reporting. */
export const STATUS_FD = 3;

/** Where the launcher reads the program's variables. */
export const ENVIRONMENT_FD = 4;

/** One thing to do before the program starts. */
export type LaunchStep =
  | { readonly joinCgroup: string }
  | { readonly limit: RlimitName; readonly value: number }
  | { readonly openFile: string; readonly as: number }
  /**
   * Standard input is a socket: a pipe is put in its place, with a process that fills it. `owner` (`uid:gid`,
   * empty for ourselves) is who may open `/dev/stdin` again.
   */
  | { readonly pipeInputFor: string };

/** The resource limits that bash's `ulimit` sets, by its option; the units are bash's. */
const ULIMIT_OPTION = {
  coreBlocks: '-c',
  dataKb: '-d',
  fileSizeKb: '-f',
  openFiles: '-n',
  cpuSec: '-t',
} as const;

export type RlimitName = keyof typeof ULIMIT_OPTION;

/**
 * A constant text: all that varies comes in as arguments. A limit that cannot be raised to the wanted value
 * because the host's own is lower already holds more than was wanted.
 */
const SCRIPT = `
fail() { printf '{"failed":"%s"}\\n' "$1" >&3; exit 125; }
environment=
[ "$1" = environment ] && environment=4
[ -e /dev/fd/0 ] || fail "/dev/fd is missing, so that nothing tells what is open"
for glovebox_fd in /dev/fd/*; do
  glovebox_fd=\${glovebox_fd##*/}
  case $glovebox_fd in 0|1|2|3|$environment) ;; *) eval "exec $glovebox_fd>&-" ;; esac
done
while [ "$1" != -- ]; do
  case $1 in
    cgroup) echo 0 >"$2" || fail "could not enter a cgroup"; shift 2 ;;
    limit)
      ulimit "$2" "$3" 2>/dev/null || [ "$(ulimit -H "$2")" -le "$3" ] || fail "could not set ulimit $2"
      shift 3 ;;
    open) eval "exec $2<\\"\\$3\\"" || fail "could not open a control file"; shift 3 ;;
    input)
      exec 9<&0
      exec 0< <(cat <&9 9<&- 2>/dev/null 3>&- &)
      wait $!
      exec 9<&-
      [ -z "$2" ] || chown "$2" /dev/fd/0 || fail "could not hand standard input over"
      shift 2 ;;
    environment) shift ;;
    status) printf '{"started":true}\\n' >&3; exec 3>&-; shift ;;
    *) fail "unknown step" ;;
  esac
done
shift
if [ -n "$environment" ]; then
  while IFS= read -r -d '' glovebox_fd <&4; do export "$glovebox_fd"; done
  exec 4<&-
fi
exec "$@"
`;

/**
 * The command line that does the steps and then becomes `program`, which reports on descriptor 3 itself.
 * Pure.
 */
export function launcherArguments(
  bash: string,
  steps: readonly LaunchStep[],
  program: readonly string[],
): string[] {
  return [...beginning(bash), ...steps.flatMap(stepArguments), '--', ...program];
}

/** A launch for which the launcher says that the program starts, and hands over its variables. */
export interface PlainLaunch {
  readonly argv: readonly string[];
  /** To be written to descriptor 4; on the command line other users of the host could read it. */
  readonly environment: string;
}

/**
 * The same for a program without bubblewrap. Its variables come last, when everything is held: a library that
 * they preload, or an option for bash in them, would otherwise come first. Pure.
 */
export function plainLaunch(
  bash: string,
  steps: readonly LaunchStep[],
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
): PlainLaunch {
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const isOfBash = (assignment: string): boolean => OF_BASH.test(assignment) || !IDENTIFIER.test(assignment);
  return {
    argv: [
      ...beginning(bash),
      'environment',
      ...steps.flatMap(stepArguments),
      ...['status', '--', '/usr/bin/env', '-u', 'SHLVL', '-u', 'OLDPWD', '-u', '_'],
      ...assignments.filter(isOfBash),
      ...program,
    ],
    environment: assignments
      .filter((assignment) => !isOfBash(assignment))
      .map((assignment) => `${assignment}\0`)
      .join(''),
  };
}

const IDENTIFIER = /^[A-Za-z_]\w*=/;

/** Variables that bash would not take as they are: its own, and those of the locale, which it tries to follow. */
const OF_BASH =
  /^(?:BASH\w*|COMP_\w*|DIRSTACK|E?UID|EPOCH\w*|FUNCNAME|GROUPS|HIST\w*|IFS|LANG|LANGUAGE|LC_\w*|LINENO|OLDPWD|OPT\w*|PIPESTATUS|POSIXLY_CORRECT|PPID|PS\d|S?RANDOM|SECONDS|SHELLOPTS|SHLVL|_|environment|glovebox_fd)=/;

function beginning(bash: string): string[] {
  // Neither start-up files nor functions and options from the environment.
  return [bash, '--norc', '--noprofile', '-p', '-c', SCRIPT, 'glovebox'];
}

function stepArguments(step: LaunchStep): string[] {
  if ('joinCgroup' in step) return ['cgroup', step.joinCgroup];
  if ('limit' in step) return ['limit', ULIMIT_OPTION[step.limit], String(step.value)];
  if ('pipeInputFor' in step) return ['input', step.pipeInputFor];
  return ['open', String(step.as), step.openFile];
}
