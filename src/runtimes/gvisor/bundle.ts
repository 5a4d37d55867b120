/** Policy to an OCI bundle and to runsc's command line: pure, so that every field and flag can be pinned by a test. */
import { WRITABLE } from '../host/furniture.ts';
import { initArguments } from '../host/init/init.ts';
import { refuseNul } from '../host/launcher.ts';
import { OPEN_FILES } from '../host/rlimits.ts';

/** Where the first process finds itself and what it writes to; closed to programs. */
export const INIT_FOLDER = '/run/glovebox';

export interface BundleSpec {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The root's folder, and whether runsc shall keep it read-only besides the kernel. */
  readonly root: { readonly path: string; readonly readonly: boolean };
  /** The folder with the first process's program and the reports. */
  readonly init: string;
  /** An empty file, and an empty folder. */
  readonly empty: { readonly file: string; readonly folder: string };
  /** Where the folders that programs may write to are. */
  readonly stage: string;
  /** The report's name in the folder of the first process. */
  readonly report: string;
  /** Whether the output comes in frames, see `FramedSource`. */
  readonly frames: boolean;
  /** The relay's port, and the names of its named pipes in the same folder. */
  readonly relay?: { readonly port: number } & RelayPipeNames;
  readonly limits: { readonly processes: number; readonly diskMb: number; readonly cpuSec: number };
}

export interface RelayPipeNames {
  readonly input: string;
  readonly output: string;
}

/** What the first process needs to start a program of another user and to signal it; the program gets none of it. */
const INIT_CAPABILITIES = ['CAP_KILL', 'CAP_SETGID', 'CAP_SETUID', 'CAP_SETPCAP'];

/** Devices that gVisor makes up besides the harmless ones, and which no program needs. */
export const HIDDEN_DEVICES = { '/dev/fuse': 'file', '/dev/net': 'folder' } as const;

/** Where the empty file is seen inside. */
export const EMPTY_FILE = '/dev/fuse' satisfies keyof typeof HIDDEN_DEVICES;

/** The content of `config.json` (OCI runtime specification). Throws `INPUT_INVALID` for a NUL. */
export function bundleConfig(spec: BundleSpec): object {
  const env = Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`);
  refuseNul([...spec.argv, ...env]);
  const rlimits = {
    RLIMIT_CORE: 0,
    RLIMIT_CPU: spec.limits.cpuSec,
    RLIMIT_FSIZE: spec.limits.diskMb * 1024 ** 2,
    RLIMIT_NOFILE: OPEN_FILES,
    RLIMIT_NPROC: spec.limits.processes,
  };
  const writable = Object.entries(WRITABLE).map(([name, path]) => [`${spec.stage}/${name}`, path] as const);
  const at = (name: string): string => `${INIT_FOLDER}/${name}`;
  const relay = spec.relay && {
    ...{ program: at('relay'), port: spec.relay.port },
    ...{ input: at(spec.relay.input), output: at(spec.relay.output) },
  };
  return {
    ociVersion: '1.0.2',
    root: spec.root,
    hostname: 'glovebox',
    process: {
      user: { uid: 0, gid: 0 },
      args: [
        at('init'),
        ...initArguments({ report: at(spec.report), settings: at('settings'), frames: spec.frames, relay }),
        ...spec.argv,
      ],
      env,
      cwd: WRITABLE.workspace,
      noNewPrivileges: true,
      capabilities: {
        bounding: INIT_CAPABILITIES,
        effective: INIT_CAPABILITIES,
        permitted: INIT_CAPABILITIES,
        inheritable: [],
        ambient: [],
      },
      rlimits: Object.entries(rlimits).map(([type, value]) => ({ type, hard: value, soft: value })),
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'dev', source: 'dev' },
      ...[...writable, [spec.init, INIT_FOLDER] as const].map(([source, destination]) => ({
        destination,
        type: 'bind',
        source,
        options: ['bind', 'rw', 'nosuid', 'nodev'],
      })),
      ...Object.entries(HIDDEN_DEVICES).map(([destination, kind]) => ({
        destination,
        type: 'bind',
        source: spec.empty[kind],
        options: ['bind', 'ro'],
      })),
    ],
    linux: { namespaces: ['pid', 'mount', 'ipc', 'uts', 'network'].map((type) => ({ type })) },
  };
}

/** What an installed runsc can do, as far as its command line depends on it. */
export interface Dialect {
  readonly platform: string;
  /** The names of its flags. */
  readonly flags: ReadonlySet<string>;
}

export interface RunSpec {
  readonly dialect: Dialect;
  /** Where it keeps what it knows of its sandboxes. */
  readonly state: string;
  readonly bundle: string;
  readonly id: string;
  /** Whether its first process opens named pipes of ours. */
  readonly withPipes: boolean;
}

/** The names of the files in a bundle in which runsc tells why it failed. */
export const COMPLAINTS = { log: 'log', panic: 'panic' } as const;

/** The arguments for `runsc`. */
export function runArguments({ dialect, state, bundle, id, withPipes }: RunSpec): string[] {
  return [
    `--root=${state}`,
    `--platform=${dialect.platform}`,
    // No network of any kind but a loopback device that it makes up itself.
    '--network=none',
    // It is in a group of ours already.
    '--ignore-cgroups',
    // Nothing is laid over what is shown read-only: later versions would do so by themselves.
    ...(dialect.flags.has('overlay2') ? ['--overlay2=none'] : []),
    // Those that are there, by who may: a program cannot make one that the host sees.
    ...(withPipes ? ['--host-fifo=open'] : []),
    `--log=${bundle}/${COMPLAINTS.log}`,
    `--panic-log=${bundle}/${COMPLAINTS.panic}`,
    'run',
    `--bundle=${bundle}`,
    id,
  ];
}
