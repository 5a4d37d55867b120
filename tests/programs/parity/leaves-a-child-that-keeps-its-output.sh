(sleep 60; echo never) &
echo done
