/** Finds an engine that answers, and what it can do. */
import { isSandboxError, SandboxError } from '../../errors.ts';
import { initProgram } from '../host/init/init.ts';
import { relayProgram } from '../relay/relay.ts';
import type { Capabilities, Probe } from '../runtime.ts';
import { asSentence } from '../sentence.ts';
import { type Endpoint, findEndpoints, parseEndpoint, usualSockets } from './endpoint.ts';
import { Engine, EngineError } from './engine.ts';

/** What `GET /version` tells, as far as it is read. */
interface VersionAnswer {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly Components?: readonly { readonly Name: string; readonly Version: string }[];
}

/** What `GET /info` tells, as far as it is read. */
export interface EngineInfo {
  readonly ID: string;
  readonly OSType?: string;
  readonly Architecture?: string;
  readonly KernelVersion: string;
  readonly NCPU: number;
  readonly CgroupVersion?: string;
  readonly CgroupDriver?: string;
  readonly MemoryLimit: boolean;
  readonly SwapLimit: boolean;
  readonly PidsLimit: boolean;
  readonly CpuCfsQuota: boolean;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, { readonly path?: string } | null>> | null;
  readonly DefaultRuntime?: string;
  /** Podman's; Docker says it among its security options. */
  readonly Rootless?: boolean;
}

/** An engine that answered. */
export interface Connection {
  readonly engine: Engine;
  readonly name: string;
  readonly version: string;
  readonly isPodman: boolean;
  readonly info: EngineInfo;
  /** The low-level runtime that containers get. */
  readonly runtime: string;
  /** True for one with a kernel of its own, such as gVisor's. */
  readonly ownKernel: boolean;
  /** True where the engine's user ids are not the host's. */
  readonly mapsUsers: boolean;
  readonly components: ReadonlyMap<string, string>;
}

export type Unavailable = Probe & { readonly available: false };

/** The oldest API that has everything that is asked of it: Docker 20.10, Podman 4. */
const OLDEST_API = [1, 41] as const;

/** How long an engine may take to say what it is. */
const HELLO_DEADLINE_MS = 5000;

/** Connects to the engine that is configured, or to the first that answers in the usual places. */
export async function connect(
  wantedRuntime: string | undefined,
  address?: string,
): Promise<Connection | Unavailable> {
  let endpoints: Endpoint[];
  try {
    endpoints = address === undefined ? findEndpoints() : [parseEndpoint(address, 'the option')];
  } catch (error) {
    if (!isSandboxError(error)) throw error;
    return { available: false, reason: error.message, fix: error.hint };
  }
  let refusal: Unavailable | undefined;
  for (const endpoint of endpoints) {
    try {
      return await greet(new Engine(endpoint), wantedRuntime);
    } catch (error) {
      const reason = whyNot(error, endpoint);
      // That somebody is there but does not let us in says more than that nobody is there.
      if (refusal === undefined || reason.fix.startsWith('Let')) refusal = reason;
    }
  }
  return (
    refusal ??
    notAvailable(
      `there is no socket in the usual places (${usualSockets({}, '~').slice(0, 2).join(', ')}, …)`,
    )
  );
}

async function greet(engine: Engine, wantedRuntime: string | undefined): Promise<Connection | Unavailable> {
  const version = await engine.call<VersionAnswer>('GET', '/version', { deadlineMs: HELLO_DEADLINE_MS });
  const components = new Map(version.Components?.map(({ Name, Version }) => [Name, Version]));
  const isPodman = [...components.keys()].some((name) => /podman/i.test(name));
  const name = isPodman ? 'Podman' : 'Docker';
  if (isOlder(version.ApiVersion, OLDEST_API)) {
    return {
      available: false,
      reason: `${name} ${version.Version} speaks the Engine API ${version.ApiVersion}, and ${OLDEST_API.join('.')} is needed.`,
      fix: 'Update the engine: Docker 20.10 or later, Podman 4 or later.',
    };
  }
  engine.useVersion(version.ApiVersion);
  const said = await engine.call<EngineInfo>('GET', '/info', { deadlineMs: HELLO_DEADLINE_MS });
  const info = isPodman ? { ...said, ...(await askPodman(engine)) } : said;
  if (info.OSType !== undefined && info.OSType !== 'linux') {
    return {
      available: false,
      reason: `${name} runs ${info.OSType} containers.`,
      fix: 'Switch the engine to Linux containers.',
    };
  }
  const runtime = wantedRuntime ?? info.DefaultRuntime ?? 'runc';
  const known = info.Runtimes ?? {};
  if (wantedRuntime !== undefined && !Object.hasOwn(known, wantedRuntime)) {
    return {
      available: false,
      reason: `${name} has no runtime called ${JSON.stringify(wantedRuntime)} (DOCKER_RUNTIME); it has ${Object.keys(known).join(', ')}.`,
      fix: /runsc/.test(wantedRuntime)
        ? 'Install gVisor (apt-get install runsc), add {"runtimes": {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": ["--network=none", "--oci-seccomp"]}}} to /etc/docker/daemon.json and restart the daemon.'
        : `Add it to "runtimes" in /etc/docker/daemon.json and restart the daemon, or unset DOCKER_RUNTIME.`,
    };
  }
  const security = (info.SecurityOptions ?? []).join(' ');
  return {
    ...{ engine, name, isPodman, info, runtime, components },
    version: version.Version,
    ownKernel: /runsc|gvisor|kata/.test(`${runtime} ${known[runtime]?.path ?? ''}`),
    mapsUsers: info.Rootless === true || /name=(rootless|userns)/.test(security),
  };
}

/** What Podman says in its own API. */
interface PodmanAnswer {
  readonly host?: {
    readonly cgroupControllers?: readonly string[] | null;
    readonly security?: { readonly rootless?: boolean };
  };
}

/**
 * What Podman can hold: in Docker's words it tells what the kernel has, in its own what it may use itself, which
 * without root is less, and with cgroup version 1 nothing.
 */
async function askPodman(engine: Engine): Promise<Partial<EngineInfo>> {
  const { host } = await engine
    .call<PodmanAnswer>('GET', '/libpod/info', { deadlineMs: HELLO_DEADLINE_MS })
    .catch((error: unknown): PodmanAnswer => {
      // Behind a proxy that lets only Docker's words through: then nobody knows of any limit that it is held.
      if (error instanceof EngineError) return {};
      throw error;
    });
  const controllers = host?.cgroupControllers ?? [];
  const rootless = host?.security?.rootless;
  return {
    ...(rootless === undefined ? {} : { Rootless: rootless }),
    MemoryLimit: controllers.includes('memory'),
    PidsLimit: controllers.includes('pids'),
    CpuCfsQuota: controllers.includes('cpu'),
  };
}

/** The processor that containers run on, which need not be that of this machine, where it is one that we know. */
export function processorOf({ Architecture = 'x86_64' }: EngineInfo): 'x64' | 'arm64' | undefined {
  return PROCESSORS[Architecture];
}

const PROCESSORS: Readonly<Record<string, 'x64' | 'arm64'>> = {
  x86_64: 'x64',
  amd64: 'x64',
  aarch64: 'arm64',
  arm64: 'arm64',
};

/** What gets a place in a network as its only way out; nothing where there is none for the engine's processor. */
export function relayFor({ info }: Pick<Connection, 'info'>): Uint8Array | undefined {
  const processor = processorOf(info);
  return processor === undefined ? undefined : relayProgram(processor);
}

/** Our first process, for the machine that an engine runs on. */
export function initFor({ info }: Pick<Connection, 'info'>): Uint8Array | undefined {
  const processor = processorOf(info);
  return processor === undefined ? undefined : initProgram(processor);
}

/** Who holds what in containers of this engine, after a look into one. */
export function capabilitiesOf(
  connection: Pick<Connection, 'info' | 'ownKernel'>,
  { seccomp }: { readonly seccomp: boolean },
): Capabilities {
  const { info, ownKernel } = connection;
  return {
    isolation: ownKernel ? 'kernel' : 'container',
    network: [
      'none',
      ...(relayFor(connection) === undefined ? [] : (['allowlist'] as const)),
      // Through gVisor an open network would be the engine's own, which its settings may have taken away.
      ...(ownKernel ? [] : (['open'] as const)),
    ],
    filesystem: 'private',
    processes: 'contained',
    seccomp,
    limits: {
      memoryMb: info.MemoryLimit ? 'cgroup' : 'none',
      diskMb: 'tmpfs',
      processes: ownKernel ? 'rlimit' : info.PidsLimit ? 'cgroup' : 'none',
      cpu: info.CpuCfsQuota ? 'cgroup' : 'none',
      timeoutSec: 'timer',
    },
  };
}

/** The oldest runc without the escapes of November 2025 (CVE-2025-31133, CVE-2025-52565, CVE-2025-52881). */
const OLDEST_RUNC = [1, 2, 8] as const;

/** What `doctor` says besides. Pure. */
export function aboutEngine(
  connection: Pick<Connection, 'info' | 'components' | 'mapsUsers' | 'engine' | 'runtime'>,
): string[] {
  const { info, components, mapsUsers, engine, runtime } = connection;
  const runc = components.get('runc');
  const old = runtime === 'runc' && runc !== undefined && isOlder(runc, OLDEST_RUNC);
  const missing = [
    ...(info.MemoryLimit ? [] : ['memory']),
    ...(info.PidsLimit ? [] : ['processes']),
    ...(info.CpuCfsQuota ? [] : ['cpu']),
  ];
  return [
    `${engine.endpoint.url} (${engine.endpoint.origin}), cgroups of version ${info.CgroupVersion ?? '1'} by ${info.CgroupDriver ?? 'an unknown driver'}${mapsUsers ? ', users mapped' : ''}.`,
    ...(missing.length === 0
      ? []
      : [
          `The engine cannot hold ${missing.join(', ')}. Where it is rootless, delegate the controllers to its user: systemctl edit user@.service, Delegate=cpu cpuset io memory pids.`,
        ]),
    ...(old
      ? [
          `runc ${runc} is older than ${OLDEST_RUNC.join('.')}, which mended ways out of a container in November 2025. Unless your distribution mended it too, update the engine.`,
        ]
      : []),
  ];
}

function isOlder(version: string, than: readonly number[]): boolean {
  const parts = version.split(/[.+~-]/).map(Number);
  for (const [place, wanted] of than.entries()) {
    const part = parts[place] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}

function notAvailable(why: string): Unavailable {
  return {
    available: false,
    reason: asSentence(`Docker daemon not available: ${why}`),
    fix: 'Set SANDBOX_TYPE=local or start the Docker daemon (systemctl start docker).',
  };
}

/** Why an engine does not answer, from the system's error or the engine's own. */
export function whyNot(error: unknown, { url, origin }: Endpoint): Unavailable {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return {
      available: false,
      reason: `Docker daemon not available: this user may not use ${url} (${origin}).`,
      fix: 'Let this user use it: sudo usermod -aG docker "$USER", and log in again (that group is as good as root); or use rootless Docker, or set SANDBOX_TYPE=local.',
    };
  }
  if (code === 'ENOENT') return notAvailable(`there is no ${url} (${origin})`);
  if (code === 'ECONNREFUSED') return notAvailable(`nobody listens at ${url} (${origin})`);
  if (code === 'ETIMEDOUT') {
    return {
      available: false,
      reason: asSentence(`Docker daemon not available: ${url} (${origin}) does not answer: ${message}`),
      fix: 'Set SANDBOX_TYPE=local or restart the Docker daemon (systemctl restart docker).',
    };
  }
  return notAvailable(`${url} (${origin}) says: ${message}`);
}

/** The error for a runtime that was probed and does not work. */
export function unavailableError(runtime: string, { reason, fix }: Unavailable): SandboxError {
  return new SandboxError('RUNTIME_UNAVAILABLE', `The runtime "${runtime}" does not work here: ${reason}`, {
    hint: fix,
    details: { runtime },
  });
}
