/** Policy to a container: pure, so that every option can be pinned by a test. */
import type { NetworkMode, Policy } from '../../policy/policy.ts';
import { OPEN_FILES } from '../host/rlimits.ts';
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
}

/** The sentry of gVisor and its helpers are threads of the host, and count in the container's cgroup. */
const THREADS_OF_A_SENTRY = 1024;

/** The shell and the two relays that stand between the engine's init and a program there. */
const RELAY_PROCESSES = 3;

const PAGE = 4096;

/** An engine mounts each place by itself, so each gets a part: most for the workspace. Pure. */
export function diskShares(diskMb: number): DiskShares {
  const total = Math.floor((diskMb * 1024 ** 2) / PAGE);
  const small = Math.max(1, Math.floor(total / 8));
  return { workspace: (total - 2 * small) * PAGE, tmp: small * PAGE, shm: small * PAGE };
}

/** The mount options of a place. Pure. */
export function mountOptions(
  place: keyof typeof WRITABLE,
  { policy, user, isPodman }: Pick<ContainerSpec, 'policy' | 'user' | 'isPodman'>,
): string {
  const bytes = diskShares(policy.limits.diskMb.value)[place];
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

/** The body of `POST /containers/create` for a container that waits for a program, or keeps the files. Pure. */
export function containerBody(spec: ContainerSpec, keeping?: Keeping): object {
  const { policy, user } = spec;
  const { limits } = policy;
  const memoryBytes = Math.ceil((limits.memoryMb.value + limits.diskMb.value) * 1024 ** 2);
  const tmpfs = (place: keyof typeof WRITABLE): Record<string, string> => ({
    [WRITABLE[place]]: `rw,exec,${mountOptions(place, spec)}`,
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
    Hostname: 'glovebox',
    Labels: spec.labels,
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: policy.network === 'none',
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: networkMode(policy.network),
      ...(spec.runtime === undefined ? {} : { Runtime: spec.runtime }),
      Memory: memoryBytes,
      // The sum of memory and swap: none of it is swap.
      MemorySwap: memoryBytes,
      PidsLimit: limits.processes.value + (spec.processesBy === 'rlimit' ? THREADS_OF_A_SENTRY : 0),
      ...(limits.cpu === undefined ? {} : { NanoCpus: Math.round(limits.cpu.value * 1e9) }),
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ['ALL'],
      SecurityOpt: spec.securityOpt,
      Sysctls: spec.sysctls,
      Init: true,
      IpcMode: 'private',
      CgroupnsMode: 'private',
      LogConfig: { Type: 'none' },
      AutoRemove: keeping !== undefined,
      RestartPolicy: { Name: 'no' },
      Tmpfs: {
        ...Object.fromEntries(spec.imageVolumes.map((path) => [path, `ro,size=${PAGE}`])),
        ...(spec.volumes === undefined ? { ...tmpfs('workspace'), ...tmpfs('tmp') } : {}),
        ...tmpfs('shm'),
      },
      Mounts:
        spec.volumes === undefined
          ? []
          : [volume(spec.volumes.workspace, WRITABLE.workspace), volume(spec.volumes.tmp, WRITABLE.tmp)],
      Ulimits: [
        ...Object.entries(resourceLimits(spec)).map(([name, value]) => ulimit(name, value)),
        ...(spec.processesBy === 'rlimit' || spec.isPodman
          ? [ulimit('nproc', limits.processes.value + RELAY_PROCESSES)]
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
    cpu: Math.ceil(timeoutSec.value + 2) * cores,
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
