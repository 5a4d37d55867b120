/** Says before the tests which engines are here, which are not, and how to get those. */

import { DEFAULT_DOCKER_SETTINGS } from '../src/runtimes/docker/settings.ts';
import { probeWithin } from '../src/runtimes/probeWithin.ts';
import { loadRuntime, RUNTIME_NAMES } from '../src/runtimes/registry.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';
import { PARTS } from '../tests/e2e/support/parts.ts';

const required = (process.env['REQUIRED_RUNTIMES'] ?? '').split(',').filter(Boolean);
const docker = { ...DEFAULT_DOCKER_SETTINGS, runtime: 'runsc' };
const engines: Readonly<Record<string, Runtime>> = {
  ...Object.fromEntries(
    await Promise.all(RUNTIME_NAMES.map(async (name) => [name, await loadRuntime(name)] as const)),
  ),
  'docker-runsc': await loadRuntime('docker', { docker }),
};
let missing = 0;
for (const [name, runtime] of Object.entries(engines)) {
  const probe = await probeWithin(runtime);
  if (probe.available) {
    process.stdout.write(`${name}: ${probe.version}, isolation "${probe.capabilities.isolation}"\n`);
    continue;
  }
  const demanded = required.includes(name);
  if (demanded) missing++;
  const consequence = demanded ? 'REQUIRED_RUNTIMES names it: the tests fail.' : 'Its tests are skipped.';
  process.stdout.write(`${name}: not here. ${probe.reason} ${probe.fix} ${consequence}\n`);
}
for (const [name, whyMissing] of Object.entries(PARTS)) {
  const reason = whyMissing();
  const demanded = reason !== undefined && required.includes(name);
  if (demanded) missing++;
  const consequence = demanded ? 'REQUIRED_RUNTIMES names it: the tests fail.' : 'Its tests are skipped.';
  process.stdout.write(
    reason === undefined ? `${name}: here\n` : `${name}: not here: ${reason}. ${consequence}\n`,
  );
}
const known = [...Object.keys(engines), ...Object.keys(PARTS)];
for (const name of required.filter((wanted) => !known.includes(wanted))) {
  missing++;
  process.stdout.write(`${name}: REQUIRED_RUNTIMES names it, and there is no such engine.\n`);
}
// Not only the exit code: a probe that hangs would keep this process from ending.
process.exit(missing > 0 ? 1 : 0);
