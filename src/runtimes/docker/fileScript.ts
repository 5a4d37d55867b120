/** File operations in a shell of the sandbox's own user, for any image with the POSIX tools and `stat`. */

/** How the script ends when it refuses. */
export const REFUSAL = {
  missing: 40,
  link: 41,
  folder: 42,
  special: 43,
  large: 44,
  closed: 45,
  full: 46,
  belowFile: 47,
  longName: 48,
} as const;

/**
 * Arguments: the operation, a size in bytes, a word for a temporary name, the path's components. It enters one
 * folder after another and looks each time whether it is where the path says: a link that a program puts in
 * the way meanwhile is noticed after it was taken, and everything after that is relative to where it stands.
 */
export const FILE_SCRIPT = `
LC_ALL=C
export LC_ALL
operation=$1 size=$2 token=$3
shift 3
why() {
  case $1 in
    *'No space left'*) exit ${REFUSAL.full} ;;
    *'too long'*) exit ${REFUSAL.longName} ;;
    *'Permission denied'*|*'not permitted'*) exit ${REFUSAL.closed} ;;
    # Somebody put something else in its place between two looks.
    *'File exists'*|*'Not a directory'*|*'Is a directory'*|*'No such file'*) exit ${REFUSAL.belowFile} ;;
    *) printf '%s' "$1" >&2; exit 1 ;;
  esac
}
[ "$operation" != write ] || chmod 755 /workspace
here=/workspace
fits() { [ \${#1} -le 255 ] || exit ${REFUSAL.longName}; }
enter() {
  fits "$1"
  [ ! -h "./$1" ] || exit ${REFUSAL.link}
  if [ ! -e "./$1" ]; then
    [ "$operation" = write ] || exit ${REFUSAL.missing}
    said=$(mkdir "./$1" 2>&1) || [ -d "./$1" ] || why "$said"
  fi
  [ -d "./$1" ] || exit ${REFUSAL.belowFile}
  cd "./$1" 2>/dev/null || exit ${REFUSAL.closed}
  here=$here/$1
  [ "$(pwd -P; echo .)" = "$here
." ] || exit ${REFUSAL.link}
}
cd "$here" 2>/dev/null || exit ${REFUSAL.closed}
if [ "$operation" = list ]; then
  for component do enter "$component"; done
  [ -r . ] || exit ${REFUSAL.closed}
  # GNU find looks with fstatat(2); stat and ls of newer coreutils do it with a flag that gVisor of 2022 refuses.
  find . -maxdepth 0 -printf '' 2>/dev/null && exec find . -mindepth 1 -maxdepth 1 -printf '%y %s %T@ %f\\0'
  for found in * .[!.]* ..?*; do
    said=$(stat -c '%f %s %Y' -- "$found" 2>/dev/null) && printf '%s %s\\0' "$said" "$found"
  done
  exit
fi
while [ $# -gt 1 ]; do enter "$1"; shift; done
fits "$1"
name=./$1
[ "$operation" = write ] || [ ! -h "$name" ] || exit ${REFUSAL.link}
if [ -d "$name" ] && [ ! -h "$name" ]; then exit ${REFUSAL.folder}; fi
if [ "$operation" = read ]; then
  [ -e "$name" ] || exit ${REFUSAL.missing}
  [ -f "$name" ] || exit ${REFUSAL.special}
  [ -r "$name" ] || exit ${REFUSAL.closed}
  length=$(wc -c <"$name" 2>/dev/null) || exit ${REFUSAL.missing}
  [ "$length" -le "$size" ] || { printf '%s' "$length" >&2; exit ${REFUSAL.large}; }
  command exec 3<"$name" 2>/dev/null || exit ${REFUSAL.missing}
  # What was opened is what the path says, and not what a link led to that was put there meanwhile.
  case $(readlink /proc/self/fd/3) in "$here/$1"|"$here/$1 (deleted)"|'') ;; *) exit ${REFUSAL.link} ;; esac
  exec head -c $((size + 1)) <&3
fi
umask 022
temporary=./.glovebox-$token
set -C
said=$( { head -c "$size" 2>&3 >"$temporary"; } 3>&1 2>&1 ) || { rm -f "$temporary"; why "$said"; }
[ "$(wc -c <"$temporary")" -eq "$size" ] || { rm -f "$temporary"; why 'the content did not arrive whole'; }
[ ! -h "$name" ] || rm -f "$name"
said=$(mv -f "$temporary" "$name" 2>&1) || { rm -f "$temporary"; why "$said"; }
`;
