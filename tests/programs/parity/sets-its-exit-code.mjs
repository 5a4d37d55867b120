process.exitCode = 3;
process.on('exit', (code) => console.log('exit', code));
setTimeout(() => console.log('later'), 10);
