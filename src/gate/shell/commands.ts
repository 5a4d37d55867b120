/** What commands do, by their names and arguments. Pure. */
import type { Effect } from '../effects.ts';
import { isDevice, isOutside, isWide, namesCredentials, namesEnvironmentFile } from '../places.ts';
import { table } from '../table.ts';

export interface Doing {
  readonly effect: Effect;
  readonly why: string;
  readonly isDangerous: boolean;
}

/** Shells and interpreters that run what they are given as a text, by an option or on their standard input. */
export const SHELLS: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'ash',
  'rbash',
  'busybox',
]);
export const INTERPRETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['python', ['-c']],
  ['node', ['-e', '--eval', '-p', '--print']],
  ['deno', ['eval']],
  ['bun', ['-e']],
  ['perl', ['-e', '-E']],
  ['ruby', ['-e']],
  ['php', ['-r']],
  ['lua', ['-e']],
]);

const FETCHERS: ReadonlySet<string> = new Set([
  'curl',
  'wget',
  'fetch',
  'aria2c',
  'http',
  'https',
  'lynx',
  'lwp-request',
]);
const CONNECTORS: ReadonlySet<string> = new Set([
  'nc',
  'ncat',
  'netcat',
  'socat',
  'telnet',
  'ssh',
  'scp',
  'sftp',
  'rsync',
  'ftp',
]);
const DECODERS: ReadonlyMap<string, (args: readonly string[]) => boolean> = new Map<
  string,
  (args: readonly string[]) => boolean
>([
  ['base64', (args) => args.some((arg) => /^(-[a-z]*[dD][a-z]*|--decode)$/.test(arg))],
  ['base32', (args) => args.some((arg) => /^(-[a-z]*d[a-z]*|--decode)$/.test(arg))],
  ['xxd', (args) => args.some((arg) => /^-[a-z]*r/.test(arg))],
  ['openssl', (args) => args.includes('-d') || args.includes('-D')],
  ['rev', () => true],
  ['tr', () => true],
  ['uudecode', () => true],
  ['gunzip', () => true],
  ['zcat', () => true],
  ['gzip', (args) => args.some((arg) => /^-[a-z]*d/.test(arg))],
]);

/** The name without its folder and its version: `/usr/bin/python3.11` is `python`. */
export function plainName(name: string): string {
  const base = name.replace(/^.*\//, '');
  return /^(python|pip|ruby|php|perl|lua)[\d.]*$/.exec(base)?.[1] ?? base;
}

/** The files that a fetching command writes to. */
export function fetchedInto(name: string, args: readonly string[]): string[] {
  if (!FETCHERS.has(name)) return [];
  const files = args.flatMap((arg, i) =>
    /^(-[a-zA-Z]*[oO]|--output|--output-document)$/.test(arg) ? [args[i + 1] ?? ''] : [],
  );
  const address = args.findLast((arg) => !arg.startsWith('-') && arg.includes('/'));
  const isNamedByAddress =
    name === 'wget' || args.some((arg) => /^(-[a-zA-Z]*O[a-zA-Z]*|--remote-name)$/.test(arg));
  return isNamedByAddress && address !== undefined
    ? [...files, address.replace(/[?#].*$/, '').replace(/^.*\//, '')]
    : files;
}

export const fetches = (name: string): boolean => FETCHERS.has(name);
export const connectsTo = (name: string): boolean => CONNECTORS.has(name);
export const decodes = (name: string, args: readonly string[]): boolean =>
  DECODERS.get(name)?.(args) ?? false;

/** What a command does by itself; what it starts is looked at apart. */
export function doingsOf(name: string, args: readonly string[]): Doing[] {
  const doing = COMMANDS[name]?.(args);
  const isSaid = SAYING.has(name);
  const credentials = args.find(
    (arg) =>
      (!isSaid && namesCredentials(arg.replace(/^[\w-]*[=@]/, ''))) ||
      (READERS.has(name) && namesEnvironmentFile(arg.replace(/^@/, ''))),
  );
  return [
    ...(doing === undefined ? [] : [doing]),
    ...(FETCHERS.has(name) || CONNECTORS.has(name) ? [connects(name, args)] : []),
    ...(credentials === undefined ? [] : [readsCredentials()]),
    ...(name.startsWith('mkfs') ? [system('makes a file system, and loses what was there')] : []),
  ];
}

/** Commands whose arguments are texts and not files. */
const SAYING: ReadonlySet<string> = new Set([
  'echo',
  'printf',
  'test',
  '[',
  'export',
  'alias',
  'mkdir',
  'touch',
  'git',
  'gh',
  'cd',
  'chmod',
  'chown',
  'chgrp',
  'dirname',
  'basename',
  'mktemp',
  'rm',
  'ssh-keygen',
]);
const READERS: ReadonlySet<string> = new Set([
  ...[
    'cat',
    'less',
    'more',
    'head',
    'tail',
    'base64',
    'xxd',
    'strings',
    'od',
    'nl',
    'tac',
    'grep',
    'awk',
    'sed',
  ],
  ...['curl', 'wget', 'scp', 'nc', 'tar', 'zip', 'cp'],
]);

export function readsCredentials(): Doing {
  return { effect: 'reads_credentials', why: 'reads what proves who somebody is', isDangerous: true };
}

/** A command that hands a program to another host. */
function connects(name: string, args: readonly string[]): Doing {
  const handsOver =
    (/^(nc|ncat|netcat)$/.test(name) && args.some((arg) => /^(-[a-z]*[ec]|--(sh-)?exec)$/.test(arg))) ||
    (name === 'socat' && args.some((arg) => /^(exec|system):/i.test(arg)));
  if (handsOver)
    return { effect: 'opens_connections', why: 'lets another host type into a program', isDangerous: true };
  return { effect: 'opens_connections', why: 'speaks to other hosts', isDangerous: false };
}

function system(why: string): Doing {
  return { effect: 'changes_the_system', why, isDangerous: true };
}

const deletes = (why: string, isDangerous: boolean): Doing => ({ effect: 'deletes_files', why, isDangerous });

const hasFlag = (args: readonly string[], short: string, long: string): boolean =>
  args.some((arg) => arg === `--${long}` || new RegExp(`^-[a-zA-Z]*[${short}]`).test(arg));

const operandsOf = (args: readonly string[]): string[] => {
  const end = args.indexOf('--');
  const before = (end < 0 ? args : args.slice(0, end)).filter((arg) => !arg.startsWith('-'));
  return end < 0 ? before : [...before, ...args.slice(end + 1)];
};

type Knowledge = (args: readonly string[]) => Doing | undefined;

const remove: Knowledge = (args) => {
  const isDangerous = operandsOf(args).some((path) => isOutside(path) || isWide(path));
  return deletes(
    isDangerous ? 'deletes what is outside of the working folder' : 'deletes files',
    isDangerous,
  );
};

const COMMANDS = table<Knowledge>({
  rm: remove,
  rmdir: () => deletes('deletes folders', false),
  unlink: () => deletes('deletes a file', false),
  shred: (args) =>
    deletes(
      'destroys files',
      operandsOf(args).some((path) => isWide(path) || isDevice(path)),
    ),
  truncate: () => deletes('cuts files', false),
  find: (args) =>
    args.includes('-delete') ? deletes('deletes what it finds', args.some(isWide)) : undefined,
  mv: (args) =>
    operandsOf(args).slice(0, -1).some(isWide)
      ? deletes('moves far more than the working folder', true)
      : undefined,
  dd: (args) => {
    const target = args.find((arg) => arg.startsWith('of='))?.slice(3);
    return target !== undefined && isDevice(target) ? system('writes over a device') : undefined;
  },
  wipefs: () => system('makes a disk unreadable'),
  fdisk: () => system('changes the parts of a disk'),
  parted: () => system('changes the parts of a disk'),
  chmod: (args) => {
    const [mode = '', ...paths] = operandsOf(args);
    if (paths.some(isWide) && hasFlag(args, 'R', 'recursive'))
      return system('changes who may use far more than the working folder');
    if (/^[ugoa]*\+[rwx]*s|^[2467]\d{3}$/.test(mode))
      return system("lets whoever starts a file have its owner's rights");
    return /[+=][rwX]*x|^[0-7]*[1357][0-7]{0,2}$/.test(mode)
      ? { effect: 'writes_executables', why: 'makes files executable', isDangerous: false }
      : undefined;
  },
  chown: (args) =>
    operandsOf(args).slice(1).some(isWide)
      ? system('changes who owns far more than the working folder')
      : undefined,
  mount: () => system('changes what is mounted'),
  umount: () => system('changes what is mounted'),
  insmod: () => system('changes the kernel'),
  modprobe: () => system('changes the kernel'),
  sysctl: () => system('changes the kernel'),
  iptables: () => system('changes the network'),
  nft: () => system('changes the network'),
  useradd: () => system('changes who may use this machine'),
  usermod: () => system('changes who may use this machine'),
  passwd: () => system('changes who may use this machine'),
  visudo: () => system('changes who may use this machine'),
  crontab: (args) => (args.includes('-l') ? undefined : system('has something started later')),
  at: () => system('has something started later'),
  systemctl: (args) => changesServices(args[0]),
  service: (args) => changesServices(args[1]),
  shutdown: () => system('ends the machine'),
  reboot: () => system('ends the machine'),
  halt: () => system('ends the machine'),
  poweroff: () => system('ends the machine'),
  kill: (args) =>
    args.some((arg) => arg === '-1' || arg === '1') && operandsOf(args).every((arg) => arg === '1')
      ? system('ends processes of others')
      : undefined,
  killall: () => undefined,
  nsenter: () => system('enters what belongs to other programs'),
  printenv: () => undefined,
  history: () => undefined,
  pip: (args) => installs(args, ['install']),
  pipx: (args) => installs(args, ['install', 'run']),
  uv: (args) => installs(args, ['add', 'pip']),
  poetry: (args) => installs(args, ['add', 'install']),
  npm: (args) => installs(args, ['install', 'i', 'ci', 'add', 'exec']),
  npx: () => ({ effect: 'installs_packages', why: 'may install and start a package', isDangerous: false }),
  pnpm: (args) => installs(args, ['install', 'i', 'add', 'dlx']),
  yarn: (args) => installs(args, ['install', 'add', 'dlx']),
  'apt-get': (args) => installs(args, ['install']),
  apt: (args) => installs(args, ['install']),
  apk: (args) => installs(args, ['add']),
  yum: (args) => installs(args, ['install']),
  dnf: (args) => installs(args, ['install']),
  brew: (args) => installs(args, ['install']),
  gem: (args) => installs(args, ['install']),
  cargo: (args) => installs(args, ['install', 'add']),
  go: (args) => installs(args, ['install', 'get']),
});

function changesServices(verb: string | undefined): Doing | undefined {
  const isLooking = /^(status|show|cat|is-|list-|--)/.test(verb ?? '--');
  return isLooking ? undefined : system('starts or ends services');
}

function installs(args: readonly string[], verbs: readonly string[]): Doing | undefined {
  const verb = args.find((arg) => !arg.startsWith('-'));
  return verb !== undefined && verbs.includes(verb)
    ? { effect: 'installs_packages', why: 'installs packages', isDangerous: false }
    : undefined;
}

/** The files that a command writes which are named by its arguments. */
export function writtenBy(name: string, args: readonly string[]): string[] {
  const operands = operandsOf(args);
  switch (name) {
    case 'tee':
      return operands;
    case 'cp':
    case 'mv':
    case 'install':
    case 'ln':
      return operands.slice(-1).filter(() => operands.length > 1);
    case 'dd':
      return args.filter((arg) => arg.startsWith('of=')).map((arg) => arg.slice('of='.length));
    case 'sed':
      return args.some((arg) => /^-[a-zA-Z]*i|^--in-place/.test(arg)) ? operands.slice(-1) : [];
    default:
      return fetchedInto(name, args);
  }
}
