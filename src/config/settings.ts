import { narrowerDomains } from '../egress/match.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../languages/language.ts';
import { DEFAULT_BLOCKED_IMPORTS } from '../policy/blockedImports.ts';
import { ISOLATION_LEVELS, type IsolationLevel } from '../policy/isolation.ts';
import { engineRuntime, image, memorySize, profile, securityOptions } from './dockerValues.ts';
import { domains, hostMap, registries } from './networkValues.ts';
import { OVERSIGHT_SETTINGS, type OversightSettings } from './oversightSettings.ts';
import { RUNTIME_NAMES, type RuntimeName } from './runtimeNames.ts';
import { intersection, laterOf, offWins, smaller, strongerRuntime, type Tighten, union } from './tighten.ts';
import {
  boolean,
  booleanOrWarn,
  converted,
  file,
  folder,
  imports,
  oneOf,
  packages,
  positiveNumber,
  program,
  someOf,
  type ValueType,
} from './valueTypes.ts';
import { WARM_SETTINGS, type WarmSettings } from './warmSettings.ts';

/** What an operator can set; paths are absolute. */
export interface Settings extends OversightSettings, WarmSettings {
  readonly enabled: boolean;
  readonly type: RuntimeName;
  readonly timeoutSec: number;
  readonly maxTimeoutSec: number;
  readonly maxOutputKb: number;
  readonly lifetimeSec: number;
  readonly idleTimeoutSec: number;
  readonly keptOutputMb: number;
  readonly maxSandboxes: number;
  readonly minIsolation?: IsolationLevel;
  readonly localIsolation: 'auto' | 'namespace' | 'none';
  readonly fallback?: RuntimeName;
  readonly blockDangerousImports: 'false' | 'true' | 'warn';
  readonly blockedImports: readonly string[];
  readonly storeCode: 'always' | 'on_error' | 'never';
  readonly artifactsDir: string;
  readonly supportedLanguages: readonly LanguageName[];
  readonly memoryMb: number;
  readonly diskMb: number;
  readonly maxProcesses: number;
  readonly cpuLimit?: number;
  readonly networkEnabled: boolean;
  readonly allowedDomains: readonly string[];
  readonly hostMap?: Readonly<Record<string, string>>;
  readonly pypiRegistries?: readonly string[];
  readonly npmRegistries?: readonly string[];
  readonly packagesEnabled: boolean;
  readonly python?: string;
  readonly node?: string;
  readonly bash?: string;
  readonly dockerImage: string;
  readonly dockerRuntime?: string;
  readonly dockerNetworkEnabled: boolean;
  readonly dockerCpuLimit: number;
  readonly dockerMemoryLimitMb: number;
  readonly dockerSeccompProfile?: string;
  readonly dockerSecurityOpt?: readonly string[];
  readonly gvisorRoot?: string;
  readonly pythonImage?: string;
  readonly javascriptImage?: string;
  readonly shellImage?: string;
  readonly pythonPackages?: readonly string[];
  readonly javascriptPackages?: readonly string[];
  readonly shellPackages?: readonly string[];
}

export type SettingKey = keyof Settings;

/** All that is known about one setting. */
export interface Setting<Value> {
  /** The key under `security.sandbox`, with a dot for each level. */
  readonly name: string;
  /** Absent where no environment variable can set it. */
  readonly variable?: string;
  readonly type: ValueType<Value>;
  /** Another YAML name, with a dot where it is one level deeper; the type may be in another unit. */
  readonly alias?: { readonly name: string; readonly type: ValueType<Value> };
  /** As it could be written; absent where nothing is asked for unless somebody does. */
  readonly default?: Value | string;
  /** How a project file takes part, or why it may not. */
  readonly inProject: Tighten<Value> | { readonly refused: string };
  /** True when no later layer may loosen it either. */
  readonly strictestWins?: true;
  /** One sentence for editors and `config explain`. */
  readonly description: string;
}

/** The longest delay that a timer of Node holds; a longer one would fire at once. */
const MAX_SECONDS = Math.floor((2 ** 31 - 1) / 1000);

/** Enough for a petabyte in MB, and still exact when it is counted in bytes. */
const MAX_AMOUNT = 1_000_000_000;

// Names of later versions are known, so that the refusal can say so; only these are worth proposing.
const expected = 'one of local, bubblewrap, docker, gvisor';
const runtime = { ...oneOf(RUNTIME_NAMES), expected };
const runtimeOrRunsc = { ...oneOf([...RUNTIME_NAMES, 'runsc']), expected };
const seconds = positiveNumber({ max: MAX_SECONDS });
const amount = positiveNumber({ max: MAX_AMOUNT });
const wholeAmount = positiveNumber({ max: MAX_AMOUNT, whole: true });

const OTHER_FILES = { refused: 'it decides which files and programs code finds' } as const;

/** Every setting: where it can be written, what it may be, and what holds when nobody wrote it. */
export const SETTINGS: { readonly [Key in SettingKey]-?: Setting<NonNullable<Settings[Key]>> } = {
  enabled: {
    name: 'enabled',
    type: boolean,
    default: true,
    inProject: offWins,
    description: 'With false, every run is refused.',
  },
  type: {
    name: 'type',
    variable: 'SANDBOX_TYPE',
    type: runtime,
    alias: {
      name: 'runtime',
      type: converted(runtimeOrRunsc, (name): RuntimeName => (name === 'runsc' ? 'gvisor' : name)),
    },
    default: 'local',
    inProject: strongerRuntime,
    description: 'The runtime that isolates.',
  },
  timeoutSec: {
    name: 'timeout_sec',
    variable: 'SANDBOX_TIMEOUT_SEC',
    type: seconds,
    alias: { name: 'limits.max_execution_time', type: seconds },
    default: 30,
    inProject: smaller,
    description: 'Wall-clock limit of an execution in seconds.',
  },
  maxTimeoutSec: {
    name: 'max_timeout_sec',
    variable: 'SANDBOX_MAX_TIMEOUT_SEC',
    type: seconds,
    default: 3600,
    inProject: smaller,
    description: 'The longest timeout in seconds that anybody gets; a longer one is cut to it.',
  },
  maxOutputKb: {
    name: 'max_output_kb',
    variable: 'SANDBOX_MAX_OUTPUT_KB',
    type: amount,
    alias: { name: 'limits.max_output_bytes', type: converted(wholeAmount, (bytes) => bytes / 1024) },
    default: 10,
    inProject: smaller,
    description:
      'How much of stdout, and as much of stderr, is kept in a result (limits.max_output_bytes: in bytes).',
  },
  lifetimeSec: {
    name: 'lifetime_sec',
    variable: 'SANDBOX_LIFETIME_SEC',
    type: seconds,
    default: 3600,
    inProject: smaller,
    description: 'How long a live sandbox lives at most, in seconds from its making.',
  },
  idleTimeoutSec: {
    name: 'idle_timeout_sec',
    variable: 'SANDBOX_IDLE_TIMEOUT_SEC',
    type: seconds,
    default: 900,
    inProject: smaller,
    description: 'After how many seconds without a call and without a running process a live sandbox ends.',
  },
  keptOutputMb: {
    name: 'kept_output_mb',
    variable: 'SANDBOX_KEPT_OUTPUT_MB',
    type: wholeAmount,
    default: 64,
    inProject: smaller,
    description:
      'How much output of its executions a live sandbox keeps to be paged, in MB; the oldest goes first.',
  },
  maxSandboxes: {
    name: 'max_sandboxes',
    variable: 'SANDBOX_MAX_SANDBOXES',
    type: wholeAmount,
    default: 256,
    inProject: smaller,
    description: 'How many live sandboxes one manager may have at a time.',
  },
  ...WARM_SETTINGS,
  minIsolation: {
    name: 'min_isolation',
    variable: 'SANDBOX_MIN_ISOLATION',
    type: oneOf(ISOLATION_LEVELS),
    inProject: laterOf(ISOLATION_LEVELS),
    strictestWins: true,
    description: 'Refuse anything weaker; the strictest of all places where it is set holds.',
  },
  localIsolation: {
    name: 'local_isolation',
    variable: 'SANDBOX_LOCAL_ISOLATION',
    type: oneOf(['auto', 'namespace', 'none']),
    default: 'auto',
    inProject: laterOf(['none', 'auto', 'namespace']),
    description:
      'For local: namespaces where they work (auto), always (namespace), or a plain process (none).',
  },
  fallback: {
    name: 'fallback',
    variable: 'SANDBOX_FALLBACK',
    type: runtime,
    inProject: { refused: 'it could bring in a weaker runtime' },
    description: 'The runtime to use when the chosen one is unavailable; without it such a run is refused.',
  },
  blockDangerousImports: {
    name: 'block_dangerous_imports',
    variable: 'SANDBOX_BLOCK_DANGEROUS_IMPORTS',
    type: booleanOrWarn,
    default: 'false',
    inProject: laterOf(['false', 'warn', 'true']),
    description: 'Whether blocked imports stop a run before it starts (true) or are only reported (warn).',
  },
  blockedImports: {
    name: 'blocked_imports',
    variable: 'SANDBOX_BLOCKED_IMPORTS',
    type: imports,
    default: DEFAULT_BLOCKED_IMPORTS,
    inProject: union,
    description: 'Modules that block_dangerous_imports is about; python:os means os in Python only.',
  },
  storeCode: {
    name: 'store_code',
    variable: 'SANDBOX_STORE_CODE',
    type: oneOf(['always', 'on_error', 'never']),
    default: 'on_error',
    inProject: { refused: 'it decides what is recorded about a run' },
    description: 'When the code and the result of a run are kept as artifacts.',
  },
  artifactsDir: {
    name: 'artifacts_dir',
    variable: 'SANDBOX_ARTIFACTS_DIR',
    type: folder,
    default: './artifacts/executions',
    inProject: { refused: 'it decides where files of this host are written' },
    description:
      'The folder of the artifacts; a relative path starts at the folder of the file that it is written in, and anywhere else at the working directory.',
  },
  ...OVERSIGHT_SETTINGS,
  supportedLanguages: {
    name: 'supported_languages',
    variable: 'SANDBOX_SUPPORTED_LANGUAGES',
    type: someOf(LANGUAGE_NAMES),
    default: LANGUAGE_NAMES,
    inProject: intersection,
    description: 'The only languages that may be run.',
  },
  memoryMb: {
    name: 'memory_mb',
    variable: 'SANDBOX_MEMORY_MB',
    type: wholeAmount,
    alias: { name: 'limits.max_memory_mb', type: wholeAmount },
    default: 512,
    inProject: smaller,
    description: 'Memory limit in MB.',
  },
  diskMb: {
    name: 'disk_mb',
    variable: 'SANDBOX_DISK_MB',
    type: wholeAmount,
    alias: { name: 'limits.max_disk_mb', type: wholeAmount },
    default: 256,
    inProject: smaller,
    description: 'Limit in MB for all that is written in the sandbox.',
  },
  maxProcesses: {
    name: 'max_processes',
    variable: 'SANDBOX_MAX_PROCESSES',
    type: wholeAmount,
    default: 64,
    inProject: smaller,
    description: 'How many processes and threads there may be at a time.',
  },
  cpuLimit: {
    name: 'cpu_limit',
    variable: 'SANDBOX_CPU_LIMIT',
    type: amount,
    alias: { name: 'limits.max_cpu_cores', type: amount },
    inProject: smaller,
    description: 'Share of the processor in cores.',
  },
  networkEnabled: {
    name: 'network.enabled_by_default',
    type: boolean,
    default: false,
    inProject: offWins,
    description: 'Whether code may reach the allowed domains when nobody says whether it has a network.',
  },
  allowedDomains: {
    name: 'network.allowed_domains',
    type: domains,
    default: [],
    inProject: narrowerDomains,
    description:
      'The domains that code with a network may reach when nobody names others; none when it is empty.',
  },
  hostMap: {
    name: 'network.host_map',
    type: hostMap,
    inProject: { refused: 'it opens addresses of this machine and of private networks' },
    description:
      'Where connections to a domain really go, as address:port: the only way to a private address.',
  },
  pypiRegistries: registriesOf('pypi', 'Python'),
  npmRegistries: registriesOf('npm', 'JavaScript'),
  packagesEnabled: {
    name: 'packages_enabled',
    variable: 'SANDBOX_PACKAGES_ENABLED',
    type: boolean,
    default: true,
    inProject: offWins,
    description:
      'Whether packages may be installed in live sandboxes; their registry can be reached for that time only.',
  },
  python: interpreter('python', 'SANDBOX_PYTHON', 'Python'),
  node: interpreter('node', 'SANDBOX_NODE', 'JavaScript'),
  bash: interpreter('bash', 'SANDBOX_BASH', 'shell'),
  dockerImage: {
    name: 'docker_image',
    variable: 'DOCKER_IMAGE',
    type: image,
    default: 'glovebox-sandbox:latest',
    inProject: OTHER_FILES,
    description: 'The image of containers; it is never pulled silently.',
  },
  dockerRuntime: {
    name: 'docker_runtime',
    variable: 'DOCKER_RUNTIME',
    type: engineRuntime,
    inProject: { refused: 'it decides what holds containers' },
    description:
      "The engine's low-level runtime for containers, such as runsc; without it the engine's default.",
  },
  dockerNetworkEnabled: {
    name: 'docker_network_enabled',
    variable: 'DOCKER_NETWORK_ENABLED',
    type: boolean,
    default: false,
    inProject: offWins,
    description: 'Whether containers have an open network when nobody asks for another.',
  },
  dockerCpuLimit: {
    name: 'docker_cpu_limit',
    variable: 'DOCKER_CPU_LIMIT',
    type: amount,
    default: 0.5,
    inProject: smaller,
    description: 'Share of the processor in cores for containers; wins over cpu_limit when it is set.',
  },
  dockerMemoryLimitMb: {
    name: 'docker_memory_limit',
    variable: 'DOCKER_MEMORY_LIMIT',
    type: memorySize({ maxMb: MAX_AMOUNT }),
    default: '256m',
    inProject: smaller,
    description:
      "Memory limit for containers in Docker's notation (a bare number is bytes); wins over memory_mb when it is set.",
  },
  dockerSeccompProfile: {
    name: 'docker_seccomp_profile',
    variable: 'DOCKER_SECCOMP_PROFILE',
    type: profile(file),
    inProject: { refused: 'it decides which system calls containers may use' },
    description: 'A JSON file with the seccomp profile for containers instead of ours.',
  },
  dockerSecurityOpt: {
    name: 'docker_security_opt',
    variable: 'DOCKER_SECURITY_OPT',
    type: securityOptions,
    inProject: { refused: 'it decides what holds containers' },
    description: 'Further security options for containers; none may weaken anything.',
  },
  gvisorRoot: {
    name: 'gvisor_root',
    variable: 'GVISOR_ROOT',
    type: folder,
    inProject: OTHER_FILES,
    description: "A folder with a root file system for gvisor; the host's own system folders otherwise.",
  },
  pythonImage: imageOf('python'),
  javascriptImage: imageOf('javascript'),
  shellImage: imageOf('shell'),
  pythonPackages: packagesOf('python'),
  javascriptPackages: packagesOf('javascript'),
  shellPackages: packagesOf('shell'),
};

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

/** A setting for code that treats all of them alike; its values have been through its own type. */
export function settingOf(key: SettingKey): Setting<unknown> {
  return SETTINGS[key] as unknown as Setting<unknown>;
}

function interpreter(name: string, variable: string, language: string): Setting<string> {
  return {
    name,
    variable,
    type: program,
    inProject: { refused: 'it decides which program this host starts' },
    description: `The ${language} interpreter of the runtimes that use the host's: a name on PATH, or a path (relative as in artifacts_dir).`,
  };
}

function registriesOf(registry: string, language: string): Setting<readonly string[]> {
  return {
    name: `network.allowed_registries.${registry}`,
    type: registries,
    inProject: { refused: 'it decides where packages come from' },
    description: `Where packages for ${language} may be installed from, the first by default; otherwise what ${registry === 'npm' ? 'npm' : 'pip'} of this host is configured with.`,
  };
}

function imageOf(language: LanguageName): Setting<string> {
  return {
    name: `languages.${language}.image`,
    type: image,
    inProject: OTHER_FILES,
    description: `The image of containers for ${language} instead of docker_image.`,
  };
}

function packagesOf(language: LanguageName): Setting<readonly string[]> {
  return {
    name: `languages.${language}.default_packages`,
    type: packages(language),
    inProject: { refused: 'it decides what is installed into an image' },
    description: `Packages for ${language} that glovebox images build puts into the image; never installed at a run.`,
  };
}
