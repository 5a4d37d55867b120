# A bash that waits for its program: it says that it is ready with one line on descriptor 1, and becomes a bash that runs
# the program's file when the orders are there.
#
# Orders come on standard input, each ended by a NUL: whether what follows is the program's input (1 or 0), how many
# variables to unset and their names, how many to set and their assignments, how many words the command has and these.
take() {
  local count
  IFS= read -r -d '' count || exit 125
  taken=()
  for ((; count > 0; count--)); do
    IFS= read -r -d '' word || exit 125
    taken+=("$word")
  done
}
printf '\006\n'
IFS= read -r -d '' stdin || exit 0
take; unset -v "${taken[@]}"
take; for word in "${taken[@]}"; do export "$word"; done
take
[ "$stdin" = 1 ] || exec 0</dev/null
exec -- "${taken[@]}"
