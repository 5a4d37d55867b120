echo before
if true; then
