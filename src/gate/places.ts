/** What paths are, whatever language names them: whose they are, and what is known to be there. */
import type { Effect } from './effects.ts';
import { UNKNOWN } from './reading/values.ts';

/** Files and places that hold what proves who somebody is. */
export function namesCredentials(path: string): boolean {
  return !path.endsWith('.pub') && CREDENTIALS.some((pattern) => pattern.test(path));
}

const CREDENTIALS: readonly RegExp[] = [
  /(^|\/)\.ssh(\/|$)/,
  /(^|\/)id_(rsa|dsa|ecdsa|ed25519)$/,
  /(^|\/)\.aws(\/|$)/,
  /(^|\/)\.azure(\/|$)/,
  /(^|\/)\.kube(\/|$)/,
  /(^|\/)\.docker\/config\.json$/,
  /(^|\/)\.config\/(gcloud|gh|google-chrome|chromium|BraveSoftware)(\/|$)/,
  /(^|\/)(\.mozilla\/firefox|Google\/Chrome|Login Data|Library\/Keychains|logins\.json|key4\.db)(\/|$)/,
  /(^|\/)\.(netrc|pgpass|git-credentials|npmrc|pypirc|vault-token|my\.cnf)$/,
  /(^|\/)\.gnupg(\/|$)/,
  /(^|\/)wallet\.dat$/,
  /^\/etc\/(shadow|gshadow|sudoers|master\.passwd|krb5\.keytab|ssl\/private|ssh\/ssh_host)/,
  /^\/proc\/([^/]+)\/environ$/,
  /(^|\/)(serviceaccount|secrets)\/(token|kubernetes\.io)/,
  /^\/run\/secrets\//,
  /169\.254\.169\.254|metadata\.google\.internal/,
];

/** `.env`, where programs keep their passwords; not the example that projects hand out. */
export function namesEnvironmentFile(path: string): boolean {
  return /(^|\/)\.env(\.(local|prod|production|dev|development|staging))?$/.test(path);
}

/** Where everything below is somebody's: the root, a home folder, a folder of the system. */
export function isWide(path: string): boolean {
  const plain = plainPath(path);
  // What only the running program knows is mostly a folder of its own.
  if (plain.startsWith(UNKNOWN)) return false;
  return WIDE.test(plain) || OF_SYSTEM.test(plain) || /^(\.\.\/?)+\**$/.test(plain);
}

const WIDE =
  /^(\/|~[\w-]*|\/(home|root|Users|mnt|media|data)(\/[\w.-]+)?|\/(opt|srv|var)(\/[\w.-]+)?)\/?[*\0]*$/;
const OF_SYSTEM = /^\/(bin|boot|dev|etc|lib|lib64|proc|sbin|sys|usr)(\/(?!shm\/)|$)/;

/** Beyond the working folder and what is everybody's to use. */
export function isOutside(path: string): boolean {
  const plain = plainPath(path);
  if (plain.startsWith(UNKNOWN)) return false;
  if (/^(\/|[A-Za-z]:[\\/])/.test(plain)) return !OWN.test(plain);
  return /^~/.test(plain) ? !/^~[\w-]*\/\.cache\/./.test(plain) : /^\.\.(\/|$)/.test(plain);
}

const OWN =
  /^\/(tmp|var\/tmp|private\/tmp|var\/folders|dev\/shm|workspace|work|app|content|home\/[^/]+\/\.cache\/.)(\/|$)/;

/** Without what says nothing, and with `..` taken where it stands behind a folder. */
function plainPath(path: string): string {
  const bare = path.slice(0, 4096).replace(/^file:\/\//, '');
  const isRooted = /^[\\/]/.test(bare);
  const parts: string[] = [];
  for (const part of bare.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || !isRooted) parts.push(part);
  }
  return `${isRooted ? '/' : ''}${parts.join('/')}`;
}

/** What writing to a path does beyond the file; undefined for an ordinary one. */
export function writingTo(path: string): { readonly effect: Effect; readonly why: string } | undefined {
  const plain = plainPath(path);
  if (
    STARTED_LATER.test(plain) ||
    /^\/etc\/(cron|init\.d|rc\.local|profile|ld\.so\.preload|systemd)/.test(plain)
  ) {
    return { effect: 'writes_executables', why: 'writes what is started later by others' };
  }
  if (isDevice(plain)) return { effect: 'changes_the_system', why: 'writes over a device' };
  if (
    /^\/(etc|proc|sys|boot|usr|lib|lib64)\//.test(plain) &&
    !/^\/proc\/self\/(fd|comm|oom_score_adj)/.test(plain)
  ) {
    return { effect: 'changes_the_system', why: 'changes a file of the system' };
  }
  return namesCredentials(plain) && /\.(ssh|aws|kube|gnupg)\//.test(plain)
    ? { effect: 'changes_the_system', why: 'changes what proves who somebody is' }
    : undefined;
}

const STARTED_LATER = new RegExp(
  [
    /(^|\/)\.(bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|xprofile|xinitrc)$/,
    /(^|\/)\.ssh\/(authorized_keys2?|config|rc)$/,
    /(^|\/)\.git\/hooks(\/|$)/,
    /^\/(usr\/)?(local\/)?s?bin(\/|$)/,
    /^\/usr\/local\/s?bin(\/|$)/,
    /^\/var\/spool\/cron/,
    /(^|\/)(Library\/Launch(Agents|Daemons)|\.config\/(systemd|autostart))\//,
    /^\/(usr\/)?lib\/systemd\//,
    /(^|\/)(sitecustomize|usercustomize)\.py$/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

export function isDevice(path: string): boolean {
  return /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem|kmem|loop|port)/.test(path);
}
