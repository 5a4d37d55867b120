/** Says before the tests which engines are here, which are not, and how to get those. */
import { probeWithin } from '../src/runtimes/probeWithin.ts';
import { loadRuntime, RUNTIME_NAMES } from '../src/runtimes/registry.ts';

const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').filter(Boolean);
let missing = 0;
for (const name of RUNTIME_NAMES) {
  const probe = await probeWithin(await loadRuntime(name));
  if (probe.available) {
    process.stdout.write(`${name}: ${probe.version}, isolation "${probe.capabilities.isolation}"\n`);
    continue;
  }
  const demanded = required.includes(name);
  if (demanded) missing++;
  const consequence = demanded ? 'REQUIRED_RUNTIMES names it: the tests fail.' : 'Its tests are skipped.';
  process.stdout.write(`${name}: not here. ${probe.reason} ${probe.fix} ${consequence}\n`);
}
// Not only the exit code: a probe that hangs would keep this process from ending.
process.exit(missing > 0 ? 1 : 0);
