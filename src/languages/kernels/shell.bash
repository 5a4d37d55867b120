# The kernel of a shell context: one bash runs the cells, and a second one, this same text, stands above it.
#
# Requests come on standard input: a line `TOKEN COUNT BYTES`, then that many bytes of code. The program's own output
# goes straight to descriptors 1 and 2, whoever writes it; what we say stands between it in frames that the token
# starts (src/sandbox/channel.ts). Only bash itself, from version 4 on.
#
# What ends a shell (`exit`, a failure under `set -e`, an interrupt) ends the one that runs the cells. On its way out it
# writes its state to a file, and the one above starts another with it: so the context stays.

if [ "${BASH_VERSION%%.*}" -lt 4 ] 2>/dev/null || [ -z "$BASH_VERSION" ]; then
  echo 'A shell context needs bash 4 or newer.' >&2
  exit 1
fi
if [ "$1" = above ]; then
  exec 250<&0 251>&1 252>&2 0</dev/null 2>/dev/null
  state=$2
  child=
  # The shell below has a group of its own, which an interrupt must reach as a whole.
  set -m
  trap '[ -n "$child" ] && kill -INT -- "-$child"' INT
  trap '[ -n "$child" ] && kill -TERM -- "-$child"' TERM
  printf '' >|"$state"
  # On one line, the first, so that the lines of a cell count from 1. Not in a function, where `declare` is local.
  loop='builtin eval "$2"; while __glovebox_next 2>/dev/null; do builtin eval "$__glovebox_code" 250<&- 251>&- 252>&-; { __glovebox_done "$?" "$-" || :; } 2>/dev/null; done; if [ -n "$__glovebox_over" ]; then builtin exit 0; fi; builtin exit'
  while :; do
    "$BASH" -c "$loop" bash "$state" "$BASH_EXECUTION_STRING" 1>&251 2>&252 &
    child=$!
    while :; do
      wait "$child"
      status=$?
      kill -0 "$child" || break
    done
    IFS=' ' read -r _ pid token <"$state"
    if [ "$pid" != "$child" ]; then
      # An interrupt that came while it started; anything else is its end, and ours.
      [ "$status" = 130 ] && continue
      exit "$status"
    fi
    [ "$token" = none ] && continue
    error=
    [ "$status" = 130 ] && error=',"error":{"name":"Interrupted","value":"Execution was interrupted.","traceback":""}'
    json="{\"exitCode\":$status$error}"
    printf '\036%sx0000' "$token" >&252
    printf '\036%sd%04x%s' "$token" "${#json}" "$json" >&251
  done
fi

# Below: what follows is careful with whatever a cell may have set.

__glovebox_state=$1
__glovebox_token=
__glovebox_code=
__glovebox_trap=
__glovebox_interrupt=__glovebox_interrupted
__glovebox_over=
__glovebox_trace=

# Waits for the next cell; false when there will be none.
__glovebox_next() {
  builtin local IFS=' ' LC_ALL=C TMOUT=0 __glovebox_count= __glovebox_bytes= __glovebox_text=
  while :; do
    if ! builtin read -r -u 250 __glovebox_token __glovebox_count __glovebox_bytes; then
      __glovebox_over=yes
      __glovebox_token=
      builtin return 1
    fi
    [ "$__glovebox_bytes" != hello ] && builtin break
    builtin printf '\036%sx0000' "$__glovebox_token" >&252
    builtin printf '\036%sd0002{}' "$__glovebox_token" >&251
  done
  if [ "$__glovebox_bytes" -gt 0 ]; then
    IFS= builtin read -r -u 250 -N "$__glovebox_bytes" __glovebox_text
  fi
  __glovebox_code=$__glovebox_trace$__glovebox_text
  { : >&1; } 2>/dev/null || builtin exec 1>&251
  builtin trap -- "$__glovebox_interrupt" INT
  builtin printf '\036%ss0000' "$__glovebox_token" >&251
}

# An interrupt may come twice: to all of us at once, and once more from the shell above. A handler meets a second one
# between two commands, where the default would end us while we write down our state.
__glovebox_interrupted() {
  builtin trap : INT
  builtin exit 130
}

__glovebox_done() {
  # One that comes late must not reach us, nor the next cell.
  builtin trap : INT
  # A trace is of the cells, not of us.
  __glovebox_trace=
  case $2 in
    *x*)
      builtin set +x
      __glovebox_trace='set -x; '
      ;;
  esac
  builtin local LC_ALL=C __glovebox_json= __glovebox_said=
  __glovebox_json="{\"exitCode\":$1"
  if [ "$1" = 2 ]; then
    # Was it never run? Then it cannot be read either.
    __glovebox_said=$( { builtin eval $'set -n\n'"$__glovebox_code"; } 2>&1 250<&- 251>&- 252>&- )
    if [ -n "$__glovebox_said" ]; then
      __glovebox_said=${__glovebox_said%%$'\n'*}
      __glovebox_said=${__glovebox_said#*: line *: }
      __glovebox_said=${__glovebox_said:0:1000}
      __glovebox_said=${__glovebox_said//\\/\\\\}
      __glovebox_said=${__glovebox_said//\"/\\\"}
      __glovebox_said=${__glovebox_said//[[:cntrl:]]/ }
      __glovebox_json+=",\"error\":{\"name\":\"SyntaxError\",\"value\":\"$__glovebox_said\",\"traceback\":\"\"}"
    fi
  fi
  __glovebox_json+='}'
  builtin printf '\036%sx0000' "$__glovebox_token" >&252
  builtin printf '\036%sd%04x%s' "$__glovebox_token" "${#__glovebox_json}" "$__glovebox_json" >&251
  __glovebox_token=
}

# What a cell wants to happen at the end of the shell must not take the place of what we want.
trap() {
  if [ "$BASH_SUBSHELL" -gt 0 ] || [ $# -lt 2 ] || [ "$1" = -p ] || [ "$1" = -l ]; then
    builtin trap "$@"
    return
  fi
  if [ "$1" = -- ]; then shift; fi
  local __glovebox_action=$1 __glovebox_signal __glovebox_failed=0
  shift
  for __glovebox_signal in "$@"; do
    case $__glovebox_signal in
      0 | EXIT | exit)
        __glovebox_trap=$__glovebox_action
        if [ "$__glovebox_action" = - ]; then __glovebox_trap=; fi
        ;;
      2 | INT | SIGINT | int)
        if [ "$__glovebox_action" = - ]; then __glovebox_action=__glovebox_interrupted; fi
        __glovebox_interrupt=$__glovebox_action
        builtin trap -- "$__glovebox_action" INT || __glovebox_failed=1
        ;;
      *) builtin trap -- "$__glovebox_action" "$__glovebox_signal" || __glovebox_failed=1 ;;
    esac
  done
  return "$__glovebox_failed"
}

__glovebox_exit() {
  builtin trap : INT
  __glovebox_traps=$(builtin trap -p TERM HUP USR1 USR2 DEBUG ERR RETURN)
  __glovebox_fields=$IFS
  builtin trap '' INT
  if [ -n "$__glovebox_trap" ]; then
    __glovebox_said=$__glovebox_trap
    __glovebox_trap=
    builtin eval "$__glovebox_said"
  fi
  if [ -n "$__glovebox_over" ]; then builtin return; fi
  # One after the other, so that the first line stands there only when all is written.
  __glovebox_dump "$1" >|"$__glovebox_state.new" 2>/dev/null && {
    builtin printf '# %s %s\n' "$$" "${__glovebox_token:-none}"
    builtin printf '. %q\n' "$__glovebox_state.new"
  } >|"$__glovebox_state"
}

__glovebox_dump() {
  # Read before we change what is ours to need.
  builtin local __glovebox_options __glovebox_name __glovebox_names
  __glovebox_options=$(builtin set +o)
  builtin set +eufnvx
  builtin local IFS=$' \t\n'
  builtin printf 'builtin cd -- %q\numask %s\n' "$PWD" "$(builtin umask)"
  builtin shopt -p
  builtin alias -p
  for __glovebox_name in $(builtin compgen -A function); do
    case $__glovebox_name in __glovebox_* | trap) continue ;; esac
    builtin declare -f -- "$__glovebox_name"
  done
  for __glovebox_name in $(builtin declare -Fx); do
    case $__glovebox_name in declare | -* | __glovebox_*) continue ;; esac
    builtin printf 'export -f -- %q\n' "$__glovebox_name"
  done
  for __glovebox_name in $(builtin compgen -A variable); do
    case $__glovebox_name in
      __glovebox_* | _ | BASH_* | BASH | BASHOPTS | BASHPID | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | IFS | LINENO | PIPESTATUS | PPID | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | OPTIND | OPTERR) continue ;;
    esac
    builtin declare -p -- "$__glovebox_name"
  done
  builtin printf 'IFS=%q\n' "$__glovebox_fields"
  builtin printf 'trap -- %q INT\n' "$__glovebox_interrupt"
  builtin printf '%s\n' "$__glovebox_traps" "$__glovebox_options" '__glovebox_trace='
  # Command substitution has switched it off in what it told.
  case $1 in *e*) builtin printf 'set -e\n' ;; esac
  builtin printf '# whole\n'
}

builtin trap '__glovebox_exit "$-"' EXIT
builtin trap : INT
if [ -s "$__glovebox_state" ]; then
  for __glovebox_said in $(compgen -e); do unset -v "$__glovebox_said"; done 2>/dev/null
  . "$__glovebox_state" 2>/dev/null
fi
builtin trap : INT
set --
