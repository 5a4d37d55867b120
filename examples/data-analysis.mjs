// An analysis in steps, as an agent does it: the data is loaded once, variables stay, and the chart comes back as a picture.
// Needs matplotlib for the Python of the sandboxes.
import { readFile, writeFile } from 'node:fs/promises';
import { createSandbox } from 'glovebox';

const sandbox = await createSandbox({ language: 'python', timeout: 60 });
try {
  await sandbox.writeFile('sales.csv', await readFile(new URL('sales.csv', import.meta.url)));
  const python = await sandbox.context('python');
  await python.execute("import csv; rows = list(csv.DictReader(open('sales.csv')))");
  const columns = await python.execute('list(rows[0])');
  console.log(`columns: ${columns.results[0].text}`);
  const total = await python.execute("total = sum(int(row['sales']) for row in rows); total");
  console.log(`total: ${total.results[0].text}`);
  const chart = await python.execute(`
import matplotlib.pyplot as plt
plt.bar([row['month'] for row in rows], [int(row['sales']) for row in rows])
plt.show()`);
  const picture = Buffer.from(chart.results.find(({ png }) => png).png, 'base64');
  await writeFile('chart.png', picture);
  console.log(`chart.png: ${picture.subarray(1, 4)}`);
} finally {
  await sandbox.close();
}
