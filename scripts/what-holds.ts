/** Writes docs/what-holds.md from what the drivers claim and from the clauses that they are held to. */
import { writeFileSync } from 'node:fs';
import { CLAUSES } from '../src/contract/index.ts';
import { LIMIT_NAMES } from '../src/policy/policy.ts';
import { capabilitiesWith as bubblewrapWith } from '../src/runtimes/bubblewrap/index.ts';
import { capabilitiesOf } from '../src/runtimes/docker/connect.ts';
import { capabilitiesWith as gvisorWith } from '../src/runtimes/gvisor/index.ts';
import type { CgroupHost } from '../src/runtimes/host/cgroups/cgroup.ts';
import { plainCapabilities } from '../src/runtimes/local/plain.ts';
import type { Capabilities } from '../src/runtimes/runtime.ts';

const CGROUPS = { controllers: new Set(['memory', 'pids', 'cpu']) } as unknown as CgroupHost;
const ENGINE = { MemoryLimit: true, PidsLimit: true, CpuCfsQuota: true } as Parameters<
  typeof capabilitiesOf
>[0]['info'];

/** The runtimes at their best: as root or in a delegated group, with an engine that holds every limit. */
const RUNTIMES: Readonly<Record<string, Capabilities>> = {
  '`local`, plain process': plainCapabilities(CGROUPS, true),
  '`bubblewrap`, and `local` with namespaces': bubblewrapWith(CGROUPS),
  '`docker`': capabilitiesOf({ info: ENGINE, ownKernel: false }, { seccomp: true }),
  '`docker` with `runsc`': capabilitiesOf({ info: ENGINE, ownKernel: true }, { seccomp: true }),
  '`gvisor`': gvisorWith(CGROUPS),
};

/** The whole page. */
export function whatHolds(): string {
  const all = Object.values(RUNTIMES);
  const always = CLAUSES.filter(({ claimedBy }) => claimedBy === undefined);
  const claimed = CLAUSES.filter(({ claimedBy }) => claimedBy !== undefined);
  return `# What holds where

Made by \`npm run what-holds\` from what the drivers say that they can hold, and from the clauses of the [contract](contract.md)
that the tests hold them to: a mark stands for a promise that is kept, and a dash for one that is refused when it is
asked for. This is each runtime at its best; \`glovebox doctor\` says what holds on a machine, and \`meta.enforced\`
what held a run. [Sandboxes that are kept ready](warm.md) are held to the same clauses, but to none about a second program or
archives, which they never have.

${table(
  ['', ...Object.keys(RUNTIMES)],
  [
    ['isolation', ...all.map(({ isolation }) => `\`${isolation}\``)],
    ['network', ...all.map(({ network }) => network.map((mode) => `\`${mode}\``).join(', '))],
    ['files', ...all.map(({ filesystem }) => `\`${filesystem}\``)],
    ['processes', ...all.map(({ processes }) => `\`${processes}\``)],
    ...LIMIT_NAMES.map((name) => [`\`${name}\` held by`, ...all.map(({ limits }) => `\`${limits[name]}\``)]),
  ],
)}

\`docker\` with \`runsc\` has the seccomp filter, and refuses new namespaces, where the engine starts it with \`--oci-seccomp\`.

## Promises that not every runtime makes

${table(
  ['promise', ...Object.keys(RUNTIMES)],
  claimed.map(({ promise, claimedBy }) => [promise, ...all.map((one) => (claimedBy?.(one) ? '✓' : '–'))]),
)}

## Promises of all

${always.map(({ promise }) => `- ${promise}`).join('\n')}
`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(new URL('../docs/what-holds.md', import.meta.url), whatHolds());
}
