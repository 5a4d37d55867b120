while IFS= read -r line; do printf '<%s>' "$line"; done
echo "$line|"
wc -c
