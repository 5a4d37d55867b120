import { SandboxError } from '../../errors.ts';
import { bubblewrap } from '../bubblewrap/index.ts';
import type { CgroupHost } from '../host/cgroups/cgroup.ts';
import { findCgroups } from '../host/cgroups/find.ts';
import { findExecutable } from '../host/executables.ts';
import { InterpreterFinder, type InterpreterSettings } from '../host/interpreters.ts';
import type { Probe, Runtime } from '../runtime.ts';
import { sweepFolders } from './leftovers.ts';
import { createPlainGuest, plainCapabilities } from './plain.ts';

export type LocalIsolation = 'auto' | 'namespace' | 'none';

export interface LocalOptions {
  readonly interpreters?: InterpreterSettings;
  /** `auto`: namespaces where they work, else a plain process; `namespace`: refuse otherwise; `none`: a plain process. */
  readonly isolation?: LocalIsolation;
  /** Where to make cgroups; found by itself, and `null` to do without. */
  readonly cgroups?: CgroupHost | null;
  /** See `BubblewrapOptions`. */
  readonly trustEarlierTrial?: boolean;
}

/** A process on this host, held as tightly as this host allows or as `isolation` says. */
export function local({
  interpreters = {},
  isolation = 'auto',
  cgroups,
  trustEarlierTrial = false,
}: LocalOptions = {}): Runtime {
  const host = cgroups === undefined ? findCgroups() : (cgroups ?? undefined);
  const namespaces = bubblewrap({ interpreters, cgroups: host ?? null, trustEarlierTrial });
  const finder = new InterpreterFinder(interpreters);
  let swept: Promise<unknown> | undefined;

  const runtime: Runtime = {
    name: 'local',
    async probe(signal): Promise<Probe> {
      const held = isolation === 'none' ? undefined : await namespaces.probe(signal);
      if (held?.available) return held;
      if (held && isolation === 'namespace') return held;
      if (process.platform === 'win32') {
        return {
          available: false,
          reason: 'Running code on Windows itself is not supported.',
          fix: 'Use WSL 2, where Glovebox works as on any Linux.',
        };
      }
      const capabilities = plainCapabilities(host, findExecutable('bash') !== undefined);
      return {
        available: true,
        version: 'plain process',
        capabilities,
        whyNotMore: held ? whyPlain(held) : WHY_AS_ASKED,
        notes: [`${PLAIN} ${held ? whyPlain(held) : WHY_AS_ASKED}`],
      };
    },
    async create(spec, signal) {
      const probe = await runtime.probe(signal);
      if (!probe.available) {
        throw new SandboxError(
          'RUNTIME_UNAVAILABLE',
          `The local runtime does not work here: ${probe.reason}`,
          {
            hint: probe.fix,
            details: { runtime: 'local', isolation },
          },
        );
      }
      if (probe.capabilities.isolation !== 'process') return namespaces.create(spec, signal);
      // What a crashed process left is not worth failing this run; `glovebox prune` tells what is wrong.
      swept ??= Promise.allSettled([host?.sweepHere(), sweepFolders()]);
      await swept;
      return createPlainGuest(spec, { interpreters: finder, cgroups: host });
    },
    rest: async () => namespaces.rest?.(),
    async sweep() {
      return ((await host?.sweepEverywhere()) ?? 0) + (await sweepFolders());
    },
  };
  return runtime;
}

const PLAIN =
  'The code runs as a plain process, not held: it can read and change your files and use the network.';

/** Why it is a plain process although namespaces were wanted. */
function whyPlain({ reason, fix }: Probe & { available: false }): string {
  return `${capitalized(reason)} ${fix}`;
}

const WHY_AS_ASKED =
  'SANDBOX_LOCAL_ISOLATION=none asks for a plain process; unset it to be held where this host can.';

function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
