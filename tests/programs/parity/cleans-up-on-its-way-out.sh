trap 'echo "trap after $?"' EXIT
set -euo pipefail
echo before
false | true
echo never
