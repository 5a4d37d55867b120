/** What commands do, by their names and arguments. Pure. */
import type { Effect } from '../effects.ts';
import { isDevice, isOutside, isWide, namesCredentials, namesEnvironmentFile } from '../places.ts';
import { table } from '../table.ts';

export interface Doing {
  readonly effect: Effect;
  readonly why: string;
  readonly isDangerous: boolean;
}

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
  ['uudecode', () => true],
  ['gunzip', () => true],
  ['zcat', () => true],
  ['gzip', (args) => args.some((arg) => /^-[a-z]*d/.test(arg))],
]);

const INTO = /^(?:-[fsSLkgviIjJlnNqZR046#]*o|--output(?:=|$))(.*)$/s;
const INTO_OF_WGET = /^(?:-[a-zA-Z]*O|--output-document(?:=|$))(.*)$/s;
const FOLDER = /^(?:-P|--directory-prefix(?:=|$)|--output-dir(?:=|$))(.*)$/s;

/** The files that a fetching command writes to. */
export function fetchedInto(name: string, args: readonly string[]): string[] {
  if (!FETCHERS.has(name)) return [];
  const into = valuesOf(args, name === 'wget' ? INTO_OF_WGET : INTO).filter((file) => file !== '-');
  const [folder] = valuesOf(args, FOLDER);
  const inFolder = (file: string): string => (folder === undefined ? file : `${folder}/${file}`);
  const isPrinted = args.some((arg) => /^(-[a-zA-Z]*O-|--output-document=-)$/.test(arg) || arg === '-');
  if (name === 'wget' && (into.length > 0 || isPrinted)) return into;
  const address =
    args.findLast((arg) => /^\w+:\/\//.test(arg)) ??
    args.findLast((arg) => !arg.startsWith('-') && arg.includes('/') && arg !== folder);
  const isNamedByAddress =
    name === 'wget' || args.some((arg) => /^(-[a-zA-Z]*O[a-zA-Z]*|--remote-name)$/.test(arg));
  const ofAddress =
    isNamedByAddress && address !== undefined
      ? [address.replace(/[?#].*$/, '').replace(/^.*\//, '')].filter((file) => file !== '')
      : [];
  return [...into, ...ofAddress].map(inFolder);
}

/** What stands behind an option, or in the next argument. */
function valuesOf(args: readonly string[], option: RegExp): string[] {
  return args.flatMap((arg, i) => {
    const match = option.exec(arg);
    return match === null ? [] : [match[1] || (args[i + 1] ?? '')];
  });
}

export const fetches = (name: string): boolean => FETCHERS.has(name);
export const connectsTo = (name: string): boolean => CONNECTORS.has(name);
export const decodes = (name: string, args: readonly string[]): boolean =>
  DECODERS.get(name)?.(args) ?? false;

/** Rewrites characters one by one, which many harmless commands do too. */
export const translates = (name: string, args: readonly string[]): boolean =>
  name === 'rev' || (name === 'tr' && !/^(\\[rnt0]|\s)+$/.test(args.at(-1) ?? ''));

/** Prints all variables of the environment. */
export function printsEnvironment(name: string, args: readonly string[]): boolean {
  const operands = operandsOf(args);
  switch (name) {
    case 'env':
    case 'printenv':
      return operands.every((arg) => /^\w+=/.test(arg)) && !args.some((arg) => /^-(i|-ignore)/.test(arg));
    case 'set':
      return args.length === 0;
    case 'export':
    case 'declare':
    case 'typeset':
      return operands.length === 0 && args.every((arg) => /^-[px]+$/.test(arg));
    default:
      return false;
  }
}

/** Of what flows in, these tell little. */
export const counts = (name: string): boolean => /^(wc|cut|true|:|\w+sum)$/.test(name);

/** Prints nothing that matters, so what others print stands alone. */
export const isSilent = (name: string): boolean => SILENT.has(name);

const SILENT: ReadonlySet<string> = new Set([
  ...['cd', 'pushd', 'popd', 'true', 'false', ':', 'test', '[', 'set', 'export', 'local', 'declare', 'shift'],
  ...['read', 'mkdir', 'rm', 'touch', 'chmod', 'sleep', 'return', 'exit', 'unset', 'trap', 'wait', 'mapfile'],
]);

/** What a command does by itself; what it starts is looked at apart. */
export function doingsOf(name: string, args: readonly string[]): Doing[] {
  const doing = COMMANDS[name]?.(args);
  const isSaid = SAYING.has(name);
  const credentials = namingFiles(name, args).find(
    (arg) =>
      (!isSaid && namesCredentials(arg.replace(/^[\w-]*[=@]/, ''))) ||
      (READERS.has(name) && namesEnvironmentFile(arg.replace(/^@/, ''))),
  );
  return [
    ...(doing === undefined ? [] : [doing]),
    ...(FETCHERS.has(name) || CONNECTORS.has(name) ? [connects(name, args)] : []),
    ...(credentials === undefined && !givesCredentials(name, args) ? [] : [readsCredentials()]),
    ...(name.startsWith('mkfs') ? [system('makes a file system, and loses what was there')] : []),
  ];
}

/** The arguments without patterns, what is left out, and where copies go: none of these is read. */
function namingFiles(name: string, args: readonly string[]): readonly string[] {
  const files = args.filter(
    (arg, i) => !/^--(exclude|include|ignore)\b/.test(arg) && !isPattern(name, args[i - 1] ?? ''),
  );
  if (/^(cp|mv|install)$/.test(name) && !args.some((arg) => /^(-\w*t|--target-directory)/.test(arg)))
    return files.slice(0, -1);
  const isSearch = /^([ef]?grep|rg|ag|sed|g?awk)$/.test(name);
  if (!isSearch || args.some((arg) => /^-[a-zA-Z]*[ef]$/.test(arg))) return files;
  const pattern = files.findIndex((arg) => !arg.startsWith('-'));
  return files.filter((_arg, i) => i !== pattern);
}

function isPattern(name: string, option: string): boolean {
  if (/^--(exclude|include|ignore)$/.test(option)) return true;
  if (name === 'find') return /^-i?(name|path|wholename|regex)$/.test(option);
  return /^([ef]?grep|rg|ag|sed)$/.test(name) && /^-[a-zA-Z]*e$/.test(option);
}

/** Asks a keeper of secrets for one. */
function givesCredentials(name: string, args: readonly string[]): boolean {
  return SECRETS[name]?.test(args.join(' ')) ?? false;
}

const SECRETS = table<RegExp>({
  gpg: /--export-secret-(sub)?keys/,
  aws: /\b(configure get \S*(secret|token)|configure export-credentials|secretsmanager get-secret-value|ssm get-parameters? .*--with-decryption|ecr get-login-password)/,
  gcloud: /\b(print-(access|identity)-token|secrets versions access)\b/,
  az: /\b(get-access-token|keyvault secret show)\b/,
  gh: /\bauth token\b/,
  kubectl: /\bget (\S+ )*secrets?\b.*(-o ?|--output[= ])(yaml|json|go-template)|config view .*--raw/,
  security: /\b(find-(generic|internet)-password|dump-keychain|export)\b/,
  'secret-tool': /^lookup\b/,
  pass: /^show\b/,
  vault: /^(kv get|read)\b/,
});

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

/** Where `find` looks: what stands before its first condition. */
export function placesOfFind(args: readonly string[]): readonly string[] {
  const start = args.findIndex((arg) => !/^-([HLP]|O\d|D)$/.test(arg));
  const rest = start < 0 ? [] : args.slice(start);
  const end = rest.findIndex((arg) => /^[-(!]/.test(arg));
  return end < 0 ? rest : rest.slice(0, end);
}

/** What changes the system, but not where it is only asked. */
const unless =
  (asks: (args: readonly string[]) => boolean, why: string): Knowledge =>
  (args) =>
    asks(args) ? undefined : system(why);

const has =
  (option: RegExp) =>
  (args: readonly string[]): boolean =>
    args.some((arg) => option.test(arg));

const COMMANDS = table<Knowledge>({
  rm: remove,
  rmdir: remove,
  unlink: remove,
  shred: remove,
  truncate: (args) =>
    remove(args.filter((_arg, i) => !/^(-s|--size|-r|--reference)$/.test(args[i - 1] ?? ''))),
  find: (args) => (args.includes('-delete') ? remove(placesOfFind(args)) : undefined),
  mv: (args) =>
    operandsOf(args)
      .slice(0, -1)
      .some((path) => isWide(path) || (isOutside(path) && operandsOf(args).at(-1) === '/dev/null'))
      ? deletes('moves what is outside of the working folder', true)
      : undefined,
  dd: (args) => {
    const target = args.find((arg) => arg.startsWith('of='))?.slice(3);
    return target !== undefined && isDevice(target) ? system('writes over a device') : undefined;
  },
  wipefs: unless(
    (args) => !args.some((arg) => /^-(\w*[af]|-all|-force|o)/.test(arg)),
    'makes a disk unreadable',
  ),
  fdisk: unless(has(/^(-\w*[lsx]|--list)/), 'changes the parts of a disk'),
  parted: unless(has(/^(-\w*l|--list|print)$/), 'changes the parts of a disk'),
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
  mount: unless(
    (args) => operandsOf(args).length === 0 && !args.some((arg) => /^-(\w*a|-all)/.test(arg)),
    'changes what is mounted',
  ),
  umount: () => system('changes what is mounted'),
  insmod: () => system('changes the kernel'),
  modprobe: () => system('changes the kernel'),
  rmmod: () => system('changes the kernel'),
  sysctl: unless(
    (args) => !args.some((arg) => /=|^-(\w*[wpf]|-write|-load|-system)/.test(arg)),
    'changes the kernel',
  ),
  iptables: unless(has(/^(-\w*[LSC]|--(list|list-rules|check|version))$/), 'changes the network'),
  ip6tables: unless(has(/^(-\w*[LSC]|--(list|list-rules|check|version))$/), 'changes the network'),
  nft: unless(has(/^list$/), 'changes the network'),
  ufw: unless(has(/^(status|version|show)$/), 'changes the network'),
  adduser: () => system('changes who may use this machine'),
  chpasswd: () => system('changes who may use this machine'),
  useradd: () => system('changes who may use this machine'),
  usermod: () => system('changes who may use this machine'),
  passwd: unless(has(/^(-\w*S|--status)$/), 'changes who may use this machine'),
  visudo: unless(has(/^(-\w*c|--check)/), 'changes who may use this machine'),
  crontab: (args) => (args.includes('-l') ? undefined : system('has something started later')),
  at: unless(has(/^-[lcVrd]$/), 'has something started later'),
  batch: () => system('has something started later'),
  systemctl: (args) => changesServices(args[0]),
  service: (args) => changesServices(args[1]),
  shutdown: () => system('ends the machine'),
  reboot: () => system('ends the machine'),
  init: unless((args) => !/^[016sSqQ]$/.test(args[0] ?? ''), 'ends the machine'),
  halt: () => system('ends the machine'),
  poweroff: () => system('ends the machine'),
  kill: (args) =>
    args.some((arg) => arg === '-1' || arg === '1') && operandsOf(args).every((arg) => arg === '1')
      ? system('ends processes of others')
      : undefined,
  killall: () => undefined,
  setcap: () => system("gives a file rights that are not its starter's"),
  setenforce: () => system('turns off what guards the system'),
  blkdiscard: () => system('writes over a device'),
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

/** What a command copies or moves, and where to. */
export function copiedBy(name: string, args: readonly string[]): readonly [from: string, to: string][] {
  if (!/^(cp|mv|ln|install)$/.test(name)) return [];
  const operands = operandsOf(args).slice(-MAX_COPIES);
  const target = operands.at(-1) ?? '';
  return operands.slice(0, -1).flatMap((from): [string, string][] => {
    const base = from.replace(/^.*\//, '');
    // A folder may be named with or without the slash.
    const inFolder: [string, string] = [from, `${target.replace(/\/$/, '')}/${base}`];
    return target.endsWith('/') ? [inFolder] : [[from, target], inFolder];
  });
}

const MAX_COPIES = 32;

/** The files whose text a command prints, as it is or rewritten. */
export function readBy(name: string, args: readonly string[]): readonly string[] {
  return PRINTS_FILES.has(name) ? operandsOf(args) : [];
}

const PRINTS_FILES: ReadonlySet<string> = new Set([
  ...['cat', 'head', 'tail', 'tac', 'sort', 'uniq', 'grep', 'sed', 'cut', 'base64', 'base32', 'xxd', 'rev'],
  ...['gunzip', 'zcat', 'gzip'],
]);
