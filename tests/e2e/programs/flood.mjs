/** Runs a program that writes as many bytes as the first argument says, and prints what that cost us in memory. */
import { getSandbox } from 'glovebox';

const bytes = Number(process.argv[2]);
const code = `
import os
chunk = b"x" * 1023 + b"\\n"
chunk *= 1024
left = ${bytes}
while left > 0:
    left -= os.write(1, chunk[:left])
`;

const sandbox = getSandbox();
// Loads and compiles what the first run needs.
await sandbox.execute('print(1)', { timeout: 30 });
globalThis.gc();
const before = process.memoryUsage().rss;
let peak = before;
const sampling = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, 10);
const { outcome, truncated, meta } = await sandbox.execute(code, { timeout: 60 });
clearInterval(sampling);
const after = process.memoryUsage().rss;
console.log(
  JSON.stringify({ outcome, truncated, bytes: meta.stdoutBytes, before, peak: Math.max(peak, after), after }),
);
