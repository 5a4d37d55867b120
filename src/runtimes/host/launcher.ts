/**
 * The last thing that runs before a program: a few lines of bash that do what `node:child_process` cannot.
 * They close every inherited descriptor, enter the cgroups and set the limits, and then become the program.
 */

/** Where the launcher reports, and where bubblewrap goes on reporting. */
export const STATUS_FD = 3;

/** One thing to do before the program starts. */
export type LaunchStep =
  | { readonly joinCgroup: string }
  | { readonly limit: RlimitName; readonly value: number }
  | { readonly openFile: string; readonly as: number };

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
for glovebox_fd in /dev/fd/*; do
  glovebox_fd=\${glovebox_fd##*/}
  case $glovebox_fd in 0|1|2|3) ;; *) eval "exec $glovebox_fd>&-" ;; esac
done
while [ "$1" != -- ]; do
  case $1 in
    cgroup) echo 0 >"$2" || fail "could not enter a cgroup"; shift 2 ;;
    limit)
      ulimit "$2" "$3" 2>/dev/null || [ "$(ulimit -H "$2")" -le "$3" ] || fail "could not set ulimit $2"
      shift 3 ;;
    open) eval "exec $2<\\"\\$3\\"" || fail "could not open a control file"; shift 3 ;;
    status) printf '{"started":true}\\n' >&3; exec 3>&-; shift ;;
    *) fail "unknown step" ;;
  esac
done
shift
unset OLDPWD SHLVL _ glovebox_fd
exec "$@"
`;

/** The command line that does the steps and then becomes `program`. Pure. */
export function launcherArguments(
  bash: string,
  steps: readonly LaunchStep[],
  program: readonly string[],
  /** `program` reports on descriptor 3 itself; otherwise the launcher says that it starts and closes it. */
  { keepStatus }: { readonly keepStatus: boolean },
): string[] {
  return [
    bash,
    // Neither start-up files nor functions and options from the environment.
    ...['--norc', '--noprofile', '-p', '-c', SCRIPT, 'glovebox'],
    ...steps.flatMap(stepArguments),
    ...(keepStatus ? [] : ['status']),
    '--',
    // bash sets SHLVL once more when it becomes a program; bubblewrap clears the environment itself.
    ...(keepStatus ? [] : ['/usr/bin/env', '-u', 'SHLVL']),
    ...program,
  ];
}

function stepArguments(step: LaunchStep): string[] {
  if ('joinCgroup' in step) return ['cgroup', step.joinCgroup];
  if ('limit' in step) return ['limit', ULIMIT_OPTION[step.limit], String(step.value)];
  return ['open', String(step.as), step.openFile];
}
