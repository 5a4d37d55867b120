/**
 * Holds guests in which an interpreter of each language waits; `runs` one of them and says what came of it, `stays` or
 * leaves; `forks` runs all of them, from a fork server, and `forges` the one that forges its end, there.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { bubblewrap } from '../../../src/runtimes/bubblewrap/index.ts';
import { LANGUAGES, openWarm, startFile } from '../support.ts';

const [what] = process.argv.slice(2);
const runtime = bubblewrap({ forkServer: what === 'forks' || what === 'forges' });
const guests = await Promise.all(LANGUAGES.map((language) => openWarm(runtime, language)));
if (what === 'runs') {
  const program = await startFile(guests[0] as (typeof guests)[0], 'python', 'print(input())', {
    stdin: Buffer.from('an ordinary user'),
  });
  const [said, { code }] = await Promise.all([text(program.stdout), program.exit]);
  await Promise.all(guests.map((guest) => guest.destroy()));
  console.log(JSON.stringify([guests.map(({ warmedBy }) => warmedBy), said, code]));
} else if (what === 'forks') {
  const codes = {
    python: 'print(input())',
    javascript: "import fs from 'node:fs'; console.log(fs.readFileSync(0, 'utf8'))",
    shell: 'cat; echo',
  };
  const outcomes = LANGUAGES.map(async (language, index) => {
    const guest = guests[index] as (typeof guests)[0];
    const program = await startFile(guest, language, codes[language], {
      stdin: Buffer.from('an ordinary user'),
    });
    const [said, { code }] = await Promise.all([text(program.stdout), program.exit]);
    await guest.destroy();
    return [guest.warmedBy, said, code];
  });
  console.log(JSON.stringify(await Promise.all(outcomes)));
  await runtime.rest?.();
} else if (what === 'forges') {
  const [guest] = guests as [(typeof guests)[0]];
  const code = readFileSync(new URL('forgesItsEnd.py', import.meta.url), 'utf8');
  const { exit } = await startFile(guest, 'python', code);
  const { code: exitCode } = await exit;
  const told = Buffer.from(await guest.readFile('told', 1000)).toString();
  await Promise.all(guests.map((one) => one.destroy()));
  console.log(JSON.stringify([guest.warmedBy, exitCode, told]));
  await runtime.rest?.();
} else {
  console.log('waiting');
  if (what === 'stays') setInterval(() => {}, 1000);
}
