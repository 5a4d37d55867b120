echo before
kill -s "$1" $$
sleep 30
