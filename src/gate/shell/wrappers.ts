/** Commands that start other commands. Pure. */
import { table } from '../table.ts';

interface Wrapper {
  /** The options that take a value of their own: letters and words. */
  readonly withValue: ReadonlySet<string>;
  /** How many arguments of its own stand before the command. */
  readonly operands: number;
}

const takes = (options = '', operands = 0): Wrapper => ({
  withValue: new Set(options.split(' ')),
  operands,
});

/** Commands that start the command that follows their own arguments. */
export const WRAPPERS = table<Wrapper>({
  sudo: takes('u g C D h p T r t user group host prompt chdir chroot close-from role type'),
  doas: takes('u C'),
  env: takes('u C unset chdir'),
  nice: takes('n adjustment'),
  ionice: takes('c n class classdata'),
  nohup: takes(),
  timeout: takes('k s signal kill-after'),
  time: takes('f o format output'),
  command: takes(),
  builtin: takes(),
  exec: takes('a'),
  xargs: takes('I a d E L n P s arg-file delimiter max-args max-lines max-procs max-chars'),
  setsid: takes(),
  stdbuf: takes('i o e input output error'),
  watch: takes('n d interval'),
  chroot: takes('userspec groups', 1),
  unshare: takes(),
  strace: takes('e o p s u'),
  parallel: takes('j jobs'),
  flock: takes('w E timeout wait conflict-exit-code', 1),
  runuser: takes('u g G user group'),
  'systemd-run': takes('p u E M H property unit setenv machine host uid gid working-directory slice'),
  busybox: takes(),
  toybox: takes(),
});

/** Commands of which one command starts what follows it: `uv run pytest`. */
export const RUNNERS = table<{ readonly verb: string; readonly wrapper: Wrapper }>({
  uv: { verb: 'run', wrapper: takes('with python p extra group directory project') },
  poetry: { verb: 'run', wrapper: takes() },
  pipenv: { verb: 'run', wrapper: takes() },
  pdm: { verb: 'run', wrapper: takes() },
  conda: { verb: 'run', wrapper: takes('n p name prefix') },
  bundle: { verb: 'exec', wrapper: takes() },
});

/** Commands that take a script as the value of an option. */
const SCRIPT_OPTIONS = table<RegExp>({
  su: /^(?:-[a-z]*c|--(?:session-)?command(?:=(.*))?)$/s,
  runuser: /^(?:-[a-z]*c|--(?:session-)?command(?:=(.*))?)$/s,
  flock: /^(?:-[a-z]*c|--command(?:=(.*))?)$/s,
  script: /^(?:-[a-z]*c|--command(?:=(.*))?)$/s,
  env: /^(?:-[a-z]*S|--split-string(?:=(.*))?)$/s,
  npx: /^(?:-c|--call(?:=(.*))?)$/s,
  npm: /^(?:-c|--call(?:=(.*))?)$/s,
});

/** The script that a command is given by an option: `su -c 'ls'`. */
export function scriptOf(name: string, args: readonly string[]): string | undefined {
  const option = SCRIPT_OPTIONS[name];
  if (option === undefined) return undefined;
  const at = args.findIndex((arg) => option.test(arg));
  return at < 0 ? undefined : (option.exec(args[at] ?? '')?.[1] ?? args[at + 1]);
}

/** The command that a wrapper starts, behind its own options, variables and numbers. */
export function startedBy(args: readonly string[], { withValue, operands }: Wrapper): string[] {
  let left = operands;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') return args.slice(i + 1 + left);
    const option = /^--([\w-]+)$/.exec(arg)?.[1] ?? /^-[a-zA-Z]*([a-zA-Z])$/.exec(arg)?.[1];
    if (option !== undefined && withValue.has(option)) i++;
    else if (!arg.startsWith('-') && !/^\w+=/.test(arg) && !/^\d+(\.\d+)?[smhd]?$/.test(arg)) {
      if (left === 0) return args.slice(i);
      left--;
    }
  }
  return [];
}

/** What stands in the arguments of `xargs` for what flows in. */
export function placeholderOf(args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => /^(-[a-zA-Z0-9]*I|-i|--replace)/.test(arg));
  if (at < 0) return undefined;
  const attached = /^(?:-[a-zA-Z0-9]*I|-i|--replace=?)(.*)$/s.exec(args[at] ?? '')?.[1];
  return attached || (/I$/.test(args[at] ?? '') ? args[at + 1] : '{}') || '{}';
}
