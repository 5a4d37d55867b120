/** Ways to break a runtime on purpose. */
import type {
  Capabilities,
  Command,
  Enforced,
  Exit,
  Guest,
  GuestProcess,
  Probe,
  Runtime,
  SandboxSpec,
} from '../../src/runtimes/runtime.ts';

/** What is different about a runtime; all else stays as it is. */
export interface Changes {
  readonly probe?: (probe: Probe & { available: true }) => Probe | Promise<Probe>;
  readonly capabilities?: (capabilities: Capabilities) => Capabilities;
  /** What the driver really makes, of what it was asked for. */
  readonly spec?: (spec: SandboxSpec) => SandboxSpec;
  readonly create?: (make: () => Promise<Guest>, signal: AbortSignal | undefined) => Promise<Guest>;
  readonly enforced?: (enforced: Enforced, spec: SandboxSpec) => Enforced;
  readonly guest?: (guest: Guest) => Partial<Guest>;
  readonly command?: (command: Command) => Command;
  readonly process?: (process: GuestProcess) => Partial<GuestProcess>;
  readonly exit?: (exit: Exit, guest: Guest) => Exit | Promise<Exit>;
}

/** The same runtime with these changes. */
export function change(runtime: Runtime, changes: Changes): Runtime {
  return {
    name: runtime.name,
    async probe(signal) {
      const probe = await runtime.probe(signal);
      if (!probe.available) return probe;
      const capabilities = changes.capabilities?.(probe.capabilities) ?? probe.capabilities;
      const changed = { ...probe, capabilities };
      return changes.probe?.(changed) ?? changed;
    },
    async create(spec, signal) {
      const make = () => runtime.create(changes.spec?.(spec) ?? spec);
      const guest = await (changes.create?.(make, signal) ?? make());
      return changeGuest(guest, spec, changes);
    },
  };
}

function changeGuest(guest: Guest, spec: SandboxSpec, changes: Changes): Guest {
  const { workspace, sharesLoopback, environment, enforced } = guest;
  return {
    workspace,
    sharesLoopback,
    environment,
    enforced: changes.enforced?.(enforced, spec) ?? enforced,
    interpreter: (language) => guest.interpreter(language),
    spawn: async (command) => {
      const process = await guest.spawn(changes.command?.(command) ?? command);
      const changed = {
        ...(process.stdin ? { stdin: process.stdin } : {}),
        stdout: process.stdout,
        stderr: process.stderr,
        exit: process.exit.then((exit) => changes.exit?.(exit, guest) ?? exit),
        kill: (signal: 'SIGTERM' | 'SIGKILL') => process.kill(signal),
        ...changes.process?.(process),
      };
      changed.exit.catch(() => {});
      return changed;
    },
    readFile: (path, maxBytes) => guest.readFile(path, maxBytes),
    writeFile: (path, data) => guest.writeFile(path, data),
    listFiles: (path, maxEntries) => guest.listFiles(path, maxEntries),
    removeFile: (path, options) => guest.removeFile(path, options),
    pack: (path, limits) => guest.pack(path, limits),
    unpack: (path, archive, options) => guest.unpack(path, archive, options),
    destroy: () => guest.destroy(),
    ...changes.guest?.(guest),
  };
}

/** Claims all there is. */
export const EVERYTHING: Capabilities = {
  isolation: 'namespace',
  network: ['none', 'allowlist', 'open'],
  filesystem: 'private',
  processes: 'contained',
  seccomp: true,
  limits: { memoryMb: 'cgroup', diskMb: 'tmpfs', processes: 'cgroup', cpu: 'cgroup', timeoutSec: 'timer' },
};

/** What was asked for, told as what is in force. */
export function echo(_: Enforced, { policy }: SandboxSpec): Enforced {
  const { limits, network } = policy;
  const { isolation, filesystem, processes, seccomp } = EVERYTHING;
  return {
    ...{ isolation, filesystem, processes, seccomp, network, uid: 1000 },
    limits: {
      memoryMb: { ...limits.memoryMb, by: 'cgroup' },
      diskMb: { ...limits.diskMb, by: 'tmpfs' },
      processes: { ...limits.processes, by: 'cgroup' },
      cpu: limits.cpu ? { ...limits.cpu, by: 'cgroup' } : { value: null, by: 'none', default: true },
      timeoutSec: { ...limits.timeoutSec, by: 'timer' },
    },
  };
}

/** Limits so wide that nothing here meets them. */
export function withoutLimits(spec: SandboxSpec): SandboxSpec {
  const wide = { value: 16_384, default: true };
  const { timeoutSec } = spec.policy.limits;
  const limits = { memoryMb: wide, diskMb: wide, processes: wide, timeoutSec };
  return { ...spec, policy: { ...spec.policy, limits, requires: {} } };
}
