# Writes what looks like the report of an end to whatever it can reach, tries to read or to end the process above it, and ends
# with 7. Only for a sandbox.
opened=()
# The last one is what this very script is read from.
for ((descriptor = 0; descriptor < 255; descriptor++)); do
  printf 'R\0\0\0\0' >&"$descriptor" && opened+=("$descriptor")
done
reached=()
for name in mem environ maps fd root cwd exe task/1/fd; do
  path=/proc/1/$name
  { head -c 1 "$path" || readlink "$path" || ls "$path/" || { : >>"$path"; }; } >/tmp/said && reached+=("$path")
done
for ((descriptor = 0; descriptor < 64; descriptor++)); do
  printf '\0\0\0\0' >"/proc/1/fd/$descriptor" && reached+=("fd $descriptor")
done
for ((signal = 1; signal < 65; signal++)); do
  kill -"$signal" 1
done
echo "${opened[*]}: ${reached[*]}" >/workspace/told
exit 7
