for (let number = 0; number < 20_000; number++) process.stdout.write(`line ${number}\n`);
