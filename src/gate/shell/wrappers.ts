/** Commands that start other commands. */
import { table } from '../table.ts';
/** Commands that start the command that follows their own arguments; the options that take a value of their own. */
export const WRAPPERS = table<string>({
  sudo: 'ugCDhpT',
  doas: 'uC',
  env: 'uCS',
  nice: 'n',
  ionice: 'cn',
  nohup: '',
  timeout: 'ks',
  time: 'fo',
  command: '',
  builtin: '',
  exec: 'a',
  xargs: 'IadEILnPs',
  setsid: '',
  stdbuf: 'ioe',
  watch: 'nd',
  chroot: '',
  unshare: '',
  strace: 'eop',
  parallel: 'j',
  busybox: '',
  toybox: '',
});

/** The command that a wrapper starts, behind its own options and variables. */
export function startedBy(args: readonly string[], withValue: string): string[] {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') return args.slice(i + 1);
    if (/^-[a-zA-Z]$/.test(arg) && withValue.includes(arg[1] ?? '')) i++;
    else if (!arg.startsWith('-') && !/^\w+=/.test(arg) && !/^\d+(\.\d+)?[smhd]?$/.test(arg))
      return args.slice(i);
  }
  return [];
}
