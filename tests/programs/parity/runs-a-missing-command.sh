no-such-command
echo "status $?"
/etc/passwd
