pwd
echo "$0" "$HOME" "$TMPDIR"
ls -A
