printf '<%s>' "$0" "$@"
