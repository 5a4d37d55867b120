# What ordinary shell scripts do. Prints the name of each part that worked.
set -euo pipefail
works() { if [ "$2" = "$3" ]; then echo "$1 works"; else echo "$1 fails: $2"; fi; }
cd "$(mktemp -d)"

works pipeline "$(seq 1000 | sort -r | head -n 3 | tr '\n' ' ' || true)" '999 998 997 '
works substitution "$(cat <(echo a) <(echo b) | paste -sd+)" 'a+b'
works background "$( (sleep 0.05; echo late) & echo early; wait)" $'early\nlate'
works 'exit status' "$(bash -c 'kill -TERM $$'; echo $?)" 143
works traps "$(bash -c 'trap "echo caught" USR1; kill -USR1 $$')" caught
coproc cat
echo x >&"${COPROC[1]}"
read -r line <&"${COPROC[0]}"
works coprocess "$line" x
works timeout "$(timeout 0.1 sleep 5; echo $?)" 124
works archive "$(echo text > file; tar cz file | tar tz)" file
works find "$(find . -name file -print0 | xargs -0 -P 2 wc -c | awk '{print $1}')" 5
works 'file tools' "$(cp -a file copy; mv copy moved; ln -s moved link; readlink link; rm moved; find . -mindepth 1 | wc -l)" $'moved\n2'
works limits "$(ulimit -n 64; ulimit -n)" 64
works 'new session' "$(setsid -w echo apart)" apart
