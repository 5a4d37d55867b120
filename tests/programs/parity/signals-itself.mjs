process.stdout.write('before\n');
process.kill(process.pid, process.argv[2]);
setTimeout(() => {}, 30_000);
