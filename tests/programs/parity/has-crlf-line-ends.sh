echo first
echo "$1"
