/** Holds guests in which an interpreter of each language waits; runs one of them, says what came of it, and stays or leaves. */
import { text } from 'node:stream/consumers';
import { bubblewrap } from '../../../src/runtimes/bubblewrap/index.ts';
import { LANGUAGES, openWarm, startFile } from '../support.ts';

const [what] = process.argv.slice(2);
const runtime = bubblewrap({ forkServer: false });
const guests = await Promise.all(LANGUAGES.map((language) => openWarm(runtime, language)));
if (what === 'runs') {
  const program = await startFile(guests[0] as (typeof guests)[0], 'python', 'print(input())', {
    stdin: Buffer.from('an ordinary user'),
  });
  const [said, { code }] = await Promise.all([text(program.stdout), program.exit]);
  await Promise.all(guests.map((guest) => guest.destroy()));
  console.log(JSON.stringify([guests.map(({ warmedBy }) => warmedBy), said, code]));
} else {
  console.log('waiting');
  if (what === 'stays') setInterval(() => {}, 1000);
}
