process.stdout.write('first\n');
for (;;);
