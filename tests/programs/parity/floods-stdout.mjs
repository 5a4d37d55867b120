for (let number = 0; number < 100_000; number++) process.stdout.write(`line ${number}\n`);
