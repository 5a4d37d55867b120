/** Makes a sandbox in which a Python waits, says so, and leaves it. Arguments: the runtime under test, and `stay` to live on. */
import { RUNTIMES_UNDER_TEST } from '../support/runtimes.ts';

const [wanted, how] = process.argv.slice(2);
const runtime = await RUNTIMES_UNDER_TEST.find(({ name }) => name === wanted)?.load();
const limits = { memoryMb: 128, diskMb: 8, processes: 32, timeoutSec: 30 };
const guest = await runtime?.create({
  id: `maker${process.pid}`,
  policy: {
    network: 'none',
    networkIsDefault: true,
    limits: Object.fromEntries(
      Object.entries(limits).map(([name, value]) => [name, { value, default: true }]),
    ) as never,
    requires: {},
  },
  languages: ['python'],
  singleUse: true,
  warm: { language: 'python', preload: [] },
});
console.log(guest?.warmedBy);
if (how === 'stay') setInterval(() => {}, 1000);
