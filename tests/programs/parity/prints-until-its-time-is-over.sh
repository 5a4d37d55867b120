echo first
echo 'a complaint' >&2
printf 'no line end'
exec sleep 60
