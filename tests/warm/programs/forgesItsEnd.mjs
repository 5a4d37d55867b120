// Writes what looks like the report of an end to whatever it can reach, tries to read or to end the process above it, and
// ends with 7. Only for a sandbox.
import fs from 'node:fs';

const report = Buffer.from('R\0\0\0\0');
const opened = [];
// Others that are open are its own, as another test shows.
for (const descriptor of [0, 1, 2]) {
  try {
    fs.writeSync(descriptor, report);
    opened.push(descriptor);
  } catch {}
}
const reached = [];
for (const name of ['mem', 'environ', 'maps', 'fd', 'root', 'cwd', 'exe', 'task/1/fd']) {
  const path = `/proc/1/${name}`;
  for (const attempt of [fs.readdirSync, fs.readlinkSync, fs.readFileSync, (it) => fs.openSync(it, 'r+')]) {
    try {
      attempt(path);
      reached.push(path);
    } catch {}
  }
}
for (let descriptor = 0; descriptor < 64; descriptor++) {
  try {
    fs.writeSync(fs.openSync(`/proc/1/fd/${descriptor}`, 'w'), report);
    reached.push(`fd ${descriptor}`);
  } catch {}
}
for (let signal = 1; signal < 65; signal++) {
  try {
    process.kill(1, signal);
  } catch {}
}
fs.writeFileSync('/workspace/told', `${opened.join(' ')}: ${reached.join(' ')}\n`);
process.reallyExit(7);
