// A sandbox that lives on: files last from one execution to the next, and closing it removes every trace.
import { createSandbox } from 'glovebox';

const sandbox = await createSandbox({ language: 'python', timeout: 10 });
try {
  await sandbox.writeFile('numbers.txt', '3\n1\n2\n');
  await sandbox.execute("open('sorted.txt', 'w').writelines(sorted(open('numbers.txt')))");
  const { stdout } = await sandbox.execute('paste -sd+ sorted.txt', { language: 'shell' });
  const { content } = await sandbox.readFile('sorted.txt');
  const { files } = await sandbox.listFiles();
  console.log(`sorted: ${content.trim().split('\n').join(' ')}`);
  console.log(`sum: ${stdout.trim()}`);
  console.log(
    `files: ${files
      .map(({ name }) => name)
      .sort()
      .join(', ')}`,
  );
} finally {
  await sandbox.close();
}
