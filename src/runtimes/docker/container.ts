/** Policy to a container: pure, so that every option can be pinned by a test. */
import { SandboxError } from '../../errors.ts';
import type { NetworkMode, Policy, WantedLimit } from '../../policy/policy.ts';
import { OPEN_FILES, processorSeconds } from '../host/rlimits.ts';
import type { ProgramLimits } from '../runtime.ts';
import { BOOTSTRAP } from './bootstrap.ts';

/** Where programs may write. */
export const WRITABLE = { workspace: '/workspace', tmp: '/tmp', shm: '/dev/shm' } as const;

/** Bytes of each place that programs may write to; together they are the disk limit. */
export type DiskShares = Readonly<Record<keyof typeof WRITABLE, number>>;

export interface SandboxUser {
  readonly uid: number;
  readonly gid: number;
}

/** What all containers of one sandbox have in common. */
export interface ContainerSpec {
  /** The image's id and not its name: what was looked at is what runs. */
  readonly image: string;
  /** Folders that the image declares to be volumes: each would be a place on the engine's disk to write to. */
  readonly imageVolumes: readonly string[];
  readonly searchPath: string;
  readonly user: SandboxUser;
  readonly policy: Policy;
  /** The processors of the engine's machine. */
  readonly cores: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The engine's low-level runtime, where one is named. */
  readonly runtime?: string;
  /** How processes are counted: by the cgroup, or for each user by the kernel that the container runs on. */
  readonly processesBy: 'cgroup' | 'rlimit' | 'none';
  readonly securityOpt: readonly string[];
  readonly sysctls: Readonly<Record<string, string>>;
  /**
   * Podman knows no owner and no bound on the number of files for a file system in memory, and sets a limit of
   * processes of its own, higher than root may in many containers, unless one is given.
   */
  readonly isPodman: boolean;
  /** Volumes that hold what outlives one program; without them all is gone with it. */
  readonly volumes?: { readonly workspace: string; readonly tmp: string };
  /** The container whose network it shares, by id; it has one of its own otherwise. */
  readonly joins?: string;
  /** The size of the relay that gets a place beside the program, where one does. */
  readonly relayBytes?: number;
  /** The size of a first process of ours, where it gets one in place of the engine's. */
  readonly initBytes?: number;
}

/** The sentry of gVisor and its helpers are threads of the host, and count in the container's cgroup. */
const THREADS_OF_A_SENTRY = 1024;

/** The shell and the two processes that hand on output, which stand between the engine's init and a program there. */
const OUTPUT_PROCESSES = 3;

/** What an engine's init, the keeper itself and file operations side by side may take. */
const KEEPER_PROCESSES = 64;

/** An engine's init, and the program. */
const FEWEST_PROCESSES = 2;

const PAGE = 4096;

/** What every sandbox is called, inside. */
const HOSTNAME = 'glovebox';

/** An engine mounts each place by itself, so each gets a part: most for the workspace. Pure. */
export function diskShares(diskMb: number): DiskShares {
  const total = Math.floor((diskMb * 1024 ** 2) / PAGE);
  const small = Math.max(1, Math.floor(total / 8));
  return { workspace: (total - 2 * small) * PAGE, tmp: small * PAGE, shm: small * PAGE };
}

/** The mount options of a place, with room for so many bytes of ours besides. Pure. */
export function mountOptions(
  place: keyof typeof WRITABLE,
  { policy, user, isPodman }: Pick<ContainerSpec, 'policy' | 'user' | 'isPodman'>,
  more = 0,
): string {
  const bytes = diskShares(policy.limits.diskMb.value)[place] + Math.ceil(more / PAGE) * PAGE;
  if (isPodman) return `size=${bytes},mode=1777,nosuid,nodev`;
  const inodes = Math.max(256, Math.ceil(bytes / PAGE));
  const mode = place === 'workspace' ? '0755' : '1777';
  return `size=${bytes},nr_inodes=${inodes},mode=${mode},uid=${user.uid},gid=${user.gid},nosuid,nodev`;
}

/**
 * The same for a volume of the engine's: in blocks, since Podman takes a size for a quota on a disk, and for
 * everybody where the engine's user ids are not the container's. Pure.
 */
export function volumeOptions(
  place: keyof typeof WRITABLE,
  spec: Parameters<typeof mountOptions>[1],
  mapsUsers: boolean,
): string {
  const options = mountOptions(place, { ...spec, isPodman: spec.isPodman || mapsUsers });
  return options.replace(/size=(\d+)/, (_, bytes) => `nr_blocks=${Number(bytes) / PAGE}`);
}

/** What a container does that is not a program's: it keeps the files, and vanishes when it ends. */
export interface Keeping {
  readonly script: string;
}

/** Throws `POLICY_NOT_ENFORCEABLE` for fewer processes than a container takes. */
export function assertFitsProcesses(processes: number): void {
  if (processes >= FEWEST_PROCESSES + 2) return;
  throw new SandboxError('POLICY_NOT_ENFORCEABLE', `A container cannot be held to ${processes} processes.`, {
    hint: `Ask for at least ${FEWEST_PROCESSES + 2} (maxProcesses, SANDBOX_MAX_PROCESSES).`,
  });
}

/** The sandbox's policy for a program that may use less than the sandbox, or have another time. Pure. */
export function tightened(
  policy: Policy,
  { memoryMb, processes, timeoutSec = policy.limits.timeoutSec.value }: ProgramLimits = {},
): Policy {
  const { limits } = policy;
  const lower = (limit: WantedLimit, value = limit.value): WantedLimit =>
    value < limit.value ? { value, default: false } : limit;
  return {
    ...policy,
    limits: {
      ...limits,
      memoryMb: lower(limits.memoryMb, memoryMb),
      processes: lower(limits.processes, processes),
      timeoutSec: { value: timeoutSec, default: false },
    },
  };
}

/** How many processes of ours a container has room for, besides those that its policy allows. Pure. */
export function processesOfOurs({ relay, keeps }: { relay: boolean; keeps: boolean }): number {
  return (relay ? 1 : 0) + (keeps ? KEEPER_PROCESSES : 0);
}

/** The body of `POST /containers/create` for a container that waits for a program, or keeps the files. Pure. */
export function containerBody(spec: ContainerSpec, keeping?: Keeping): object {
  const { policy, user, joins, relayBytes = 0, initBytes = 0 } = spec;
  const { limits } = policy;
  const memoryBytes = Math.ceil((limits.memoryMb.value + limits.diskMb.value) * 1024 ** 2);
  const ours = processesOfOurs({ relay: spec.relayBytes !== undefined, keeps: keeping !== undefined });
  const processes = limits.processes.value + ours;
  const tmpfs = (place: keyof typeof WRITABLE, more = 0): Record<string, string> => ({
    [WRITABLE[place]]: `rw,exec,${mountOptions(place, spec, more)}`,
  });
  const volume = (Source: string, Target: string): object => ({
    ...{ Type: 'volume', Source, Target, ReadOnly: false },
    VolumeOptions: { NoCopy: true },
  });
  return {
    Image: spec.image,
    Entrypoint: ['/bin/sh', '-c', ...(keeping ? [keeping.script] : [BOOTSTRAP, 'glovebox'])],
    Cmd: [],
    // tini sends signals on to all that it started: between it and the program there may be a shell.
    Env: [`PATH=${spec.searchPath}`, ...(spec.processesBy === 'rlimit' ? ['TINI_KILL_PROCESS_GROUP=1'] : [])],
    User: `${user.uid}:${user.gid}`,
    WorkingDir: WRITABLE.workspace,
    // Docker takes it over from the container that is joined, and takes no other; Podman does neither.
    ...(joins === undefined || spec.isPodman ? { Hostname: HOSTNAME } : {}),
    Labels: spec.labels,
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    // An engine that takes this word gives a network of its own and nothing in it, whatever the mode says.
    NetworkDisabled: joins === undefined && policy.network !== 'open',
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: joins === undefined ? networkMode(policy.network) : `container:${joins}`,
      ...(spec.runtime === undefined ? {} : { Runtime: spec.runtime }),
      Memory: memoryBytes,
      // The sum of memory and swap: none of it is swap.
      MemorySwap: memoryBytes,
      PidsLimit: processes + (spec.processesBy === 'rlimit' ? THREADS_OF_A_SENTRY : 0),
      ...(limits.cpu === undefined ? {} : { NanoCpus: Math.round(limits.cpu.value * 1e9) }),
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: spec.securityOpt,
      // They are its network's, and whoever has that has set them.
      Sysctls: joins === undefined ? spec.sysctls : {},
      Init: spec.initBytes === undefined,
      IpcMode: 'private',
      CgroupnsMode: 'private',
      LogConfig: { Type: 'none' },
      AutoRemove: keeping !== undefined,
      RestartPolicy: { Name: 'no' },
      Tmpfs: {
        ...Object.fromEntries(spec.imageVolumes.map((path) => [path, `ro,size=${PAGE}`])),
        ...(spec.volumes === undefined ? { ...tmpfs('workspace'), ...tmpfs('tmp') } : {}),
        // What is ours is started from there and stays in memory, without a name.
        ...tmpfs('shm', relayBytes + initBytes),
      },
      Mounts:
        spec.volumes === undefined
          ? []
          : [volume(spec.volumes.workspace, WRITABLE.workspace), volume(spec.volumes.tmp, WRITABLE.tmp)],
      Ulimits: [
        ...Object.entries(resourceLimits(spec))
          // The keeper and the relay in it are of use for as long as the sandbox lives.
          .filter(([name]) => name !== 'cpu' || keeping === undefined)
          .map(([name, value]) => ulimit(name, value)),
        ...(spec.processesBy === 'rlimit' || spec.isPodman
          ? [ulimit('nproc', processes + OUTPUT_PROCESSES)]
          : []),
      ],
    },
  };
}

/** The resource limits of every program: numbers, bytes and seconds. */
function resourceLimits({ policy, cores }: Pick<ContainerSpec, 'policy' | 'cores'>) {
  const { diskMb, timeoutSec } = policy.limits;
  return {
    core: 0,
    nofile: OPEN_FILES,
    fsize: Math.ceil(diskMb.value * 1024 ** 2),
    cpu: processorSeconds({ timeoutSec: timeoutSec.value, cores }),
  };
}

/**
 * The same in words of a shell, for an engine that does not set them: Podman without root leaves its own user's in
 * force. A program cannot raise what a shell before it has lowered. Pure.
 */
export function limitsInShell(spec: Pick<ContainerSpec, 'policy' | 'cores' | 'isPodman'>): string[] {
  if (!spec.isPodman) return [];
  const { core, nofile, fsize, cpu } = resourceLimits(spec);
  // Blocks of 512 bytes (POSIX, `ulimit`). What is lower already stays so.
  return [`-c ${core}`, `-n ${nofile}`, `-f ${Math.ceil(fsize / 512)}`, `-t ${cpu}`].map(
    (limit) => `ulimit ${limit} 2>/dev/null || :`,
  );
}

/** Never the host's own network: a container that is given one still has its own interfaces. */
function networkMode(network: NetworkMode): string {
  return network === 'open' ? 'bridge' : 'none';
}

function ulimit(Name: string, value: number): object {
  return { Name, Soft: value, Hard: value };
}
