/** Guests whose Python programs each run in a warm guest of their own, so that suites for guests hold those to their promises too. */
import { randomBytes } from 'node:crypto';
import { findLanguage } from '../../src/languages/index.ts';
import type { WantedLimits } from '../../src/policy/policy.ts';
import type { Command, Guest, GuestProcess, Runtime, SandboxSpec } from '../../src/runtimes/runtime.ts';

/**
 * The same runtime, whose guests start a plain Python program (its code in the file of that language, no relay) where an
 * interpreter waits for it. It finds the files that were written before it, and those that it leaves are read; what one
 * program leaves is not there for the next. All else is as in an ordinary guest.
 */
export function warmed(runtime: Runtime): Runtime {
  return {
    ...runtime,
    async create(spec, signal) {
      const cold = await runtime.create(spec, signal);
      return spec.relay === undefined && spec.languages.includes('python')
        ? around(runtime, spec, cold)
        : cold;
    },
  };
}

function around(runtime: Runtime, spec: SandboxSpec, cold: Guest): Guest {
  const written = new Map<string, Uint8Array>();
  const all = new Set<Guest>();
  const python = findLanguage('python');
  const file = `${cold.workspace}/${python.fileName}`;
  let last: Guest | undefined;

  const isPlain = async ({ argv, relay }: Command): Promise<boolean> => {
    const { path } = await cold.interpreter('python');
    return relay === undefined && python.command(path, file, []).every((word, index) => argv[index] === word);
  };

  const startWarm = async ({ limits, ...command }: Command): Promise<GuestProcess> => {
    const guest = await runtime.create({
      ...{ id: randomBytes(6).toString('hex'), singleUse: true, languages: ['python'] },
      policy: { ...spec.policy, limits: lowered(spec.policy.limits, limits) },
      warm: { language: 'python', preload: [] },
    });
    all.add(guest);
    if (guest.warmedBy === undefined) throw new Error('No interpreter waits.');
    for (const [path, data] of written) await guest.writeFile(path, data);
    last = guest;
    return guest.spawn(command);
  };

  return new Proxy(cold, {
    get(target, name) {
      if (name === 'spawn') {
        return async (command: Command) =>
          (await isPlain(command)) ? startWarm(command) : target.spawn(command);
      }
      if (name === 'writeFile') {
        return async (path: string, data: Uint8Array) => {
          await target.writeFile(path, data);
          written.set(path, data);
        };
      }
      if (name === 'readFile') {
        return (path: string, maxBytes: number) => (last ?? target).readFile(path, maxBytes);
      }
      if (name === 'destroy') {
        return async () => {
          await Promise.all([target.destroy(), ...[...all].map((guest) => guest.destroy())]);
          await runtime.rest?.();
        };
      }
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function lowered(policy: WantedLimits, limits: Command['limits'] = {}): WantedLimits {
  const { memoryMb, processes, timeoutSec } = limits;
  const limit = (value: number) => ({ value, default: false });
  return {
    ...policy,
    ...(memoryMb === undefined ? {} : { memoryMb: limit(memoryMb) }),
    ...(processes === undefined ? {} : { processes: limit(processes) }),
    ...(timeoutSec === undefined ? {} : { timeoutSec: limit(Math.min(timeoutSec, 2 ** 31)) }),
  };
}
