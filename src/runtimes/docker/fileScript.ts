/** File operations in a shell of the sandbox's own user, for any image with the POSIX tools and `stat`. */

import { rawName } from '../../archive/printableName.ts';

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
  noTar: 49,
  notEmpty: 50,
  tornArchive: 51,
  changes: 52,
} as const;

export type FileOperation = 'read' | 'write' | 'list' | 'remove' | 'pack' | 'unpack';

/** What an archive for `unpack` holds: the entries below this folder, and at its end a file of this name. */
export const UNPACKED = { folder: 'files', end: 'end' } as const;

/** The script's argument list; names that no text can say come as `printf %b` reads them. Pure. */
export function fileCommand(
  operation: FileOperation,
  size: number,
  token: string,
  components: readonly string[],
): [string, ...string[]] {
  const raw = components.map(rawName);
  const isText = raw.every((name, index) => name.equals(Buffer.from(components[index] ?? '')));
  const words = isText ? components : raw.map(inOctal);
  return [
    ...(['/bin/sh', '-c', FILE_SCRIPT, 'glovebox'] as const),
    ...[operation, String(size), token, isText ? 'text' : 'octal', ...words],
  ];
}

function inOctal(name: Buffer): string {
  return Array.from(name, (byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
}

/**
 * Arguments: the operation, a size in bytes (for `remove`, 1 for all that is in a folder too), a word for a temporary
 * name, how the names are written, the path's components. It enters one folder after another and looks each time whether it is where the path says: a link that a program puts in
 * the way meanwhile is noticed after it was taken, and everything after that is relative to where it stands.
 */
export const FILE_SCRIPT = `
LC_ALL=C
export LC_ALL
operation=$1 size=$2 token=$3 written=$4
shift 4
if [ "$written" = octal ]; then
  count=$#
  while [ "$count" -gt 0 ]; do
    name=$(printf '%b.' "$1")
    shift
    set -- "$@" "\${name%.}"
    count=$((count - 1))
  done
fi
why() {
  case $1 in
    *'No space left'*) exit ${REFUSAL.full} ;;
    *'too long'*) exit ${REFUSAL.longName} ;;
    *'Permission denied'*|*'not permitted'*) exit ${REFUSAL.closed} ;;
    *'overwrite directory'*|*'overwrite non-directory'*) exit ${REFUSAL.folder} ;;
    # Somebody put something else in its place between two looks.
    *'File exists'*|*'Not a directory'*|*'Is a directory'*|*'No such file'*) exit ${REFUSAL.belowFile} ;;
    *) printf '%s' "$1" >&2; exit 1 ;;
  esac
}
makes=
case $operation in write|unpack) makes=1; chmod 755 /workspace ;; esac
here=/workspace
fits() { [ \${#1} -le 255 ] || exit ${REFUSAL.longName}; }
enter() {
  fits "$1"
  [ ! -h "./$1" ] || exit ${REFUSAL.link}
  if [ ! -e "./$1" ]; then
    [ "$makes" ] || exit ${REFUSAL.missing}
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
case $operation in pack|unpack)
  command -v tar >/dev/null || exit ${REFUSAL.noTar} ;;
esac
if [ "$operation" = unpack ]; then
  for component do enter "$component"; done
  stage=/workspace/.glovebox-$token
  umask 022
  said=$(mkdir "$stage" 2>&1) || why "$said"
  # Into an empty folder first, where nothing can be in the way.
  given() { cat >/dev/null; rm -rf "$stage"; }
  said=$( (cd "$stage" && exec tar xomf -) 2>&1 >/dev/null) || { given; why "$said"; }
  [ -f "$stage/${UNPACKED.end}" ] || { given; exit ${REFUSAL.tornArchive}; }
  # Moves what is in a folder of the stage to where it stands; in one that is there already, one thing after another.
  merge() {
    for item in "$1"/* "$1"/.[!.]* "$1"/..?*; do
      [ -d "$item" ] && [ ! -h "$item" ] || continue
      name=\${item##*/}
      [ ! -h "./$name" ] || exit ${REFUSAL.link}
      if [ -d "./$name" ]; then
        (cd "./$name" 2>/dev/null || exit ${REFUSAL.closed}
        here=$here/$name
        [ "$(pwd -P; echo .)" = "$here
." ] || exit ${REFUSAL.link}
        merge "$item") || exit
      elif [ -e "./$name" ]; then
        exit ${REFUSAL.belowFile}
      else
        said=$(mv -f "$item" "./$name" 2>&1) || why "$said"
      fi
    done
    said=$(find "$1" -mindepth 1 -maxdepth 1 ! -type d -exec sh -c 'mv -f -- "$@" .' sh {} + 2>&1) || why "$said"
  }
  (merge "$stage/${UNPACKED.folder}")
  code=$?
  rm -rf "$stage"
  exit $code
fi
if [ "$operation" = pack ]; then
  while [ $# -gt 1 ]; do enter "$1"; shift; done
  name=.
  if [ $# -gt 0 ]; then
    fits "$1"
    name=./$1
    [ ! -h "$name" ] || exit ${REFUSAL.link}
    [ -e "$name" ] || exit ${REFUSAL.missing}
    if [ -d "$name" ]; then enter "$1"; name=.; else [ -f "$name" ] || exit ${REFUSAL.special}; fi
  fi
  [ -r "$name" ] || exit ${REFUSAL.closed}
  # Names as they are, and no file that is only said to be another one's second name.
  case $(tar --version 2>/dev/null) in
    *GNU*) exec tar --format=gnu --hard-dereference --ignore-failed-read -cf - "$name" ;;
    *) exec tar cf - "$name" ;;
  esac
fi
while [ $# -gt 1 ]; do enter "$1"; shift; done
fits "$1"
name=./$1
if [ "$operation" = remove ]; then
  if [ -h "$name" ] || [ ! -d "$name" ]; then
    [ -h "$name" ] || [ -e "$name" ] || exit ${REFUSAL.missing}
    said=$(rm -f "$name" 2>&1) || why "$said"
    exit 0
  fi
  [ "$size" -eq 1 ] || exit ${REFUSAL.notEmpty}
  tries=20
  until said=$(rm -rf "$name" 2>&1); do
    case $said in *'not empty'*) ;; *) [ "$tries" -eq 20 ] || why "$said" ;; esac
    [ "$tries" -gt 0 ] || exit ${REFUSAL.changes}
    tries=$((tries - 1))
    # Folders that the program has closed to itself are closed to us.
    chmod -R u+rwx "$name" 2>/dev/null
  done
  exit 0
fi
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
  case $(readlink /proc/self/fd/3; echo .) in "$here/$1
."|"$here/$1 (deleted)
."|.) ;; *) exit ${REFUSAL.link} ;; esac
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
