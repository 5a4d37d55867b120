exit "$1"
