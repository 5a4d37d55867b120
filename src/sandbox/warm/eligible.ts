/** Whether an execution may have a guest that was made ready before it was known. Pure. */
import { posix } from 'node:path';
import type { LanguageName } from '../../languages/language.ts';
import type { NetworkMode } from '../../policy/policy.ts';
import type { Program } from '../program.ts';
import { PYTHON_MODULES } from './pythonModules.ts';

/** What is known of an execution. */
export interface Candidate {
  readonly program: Pick<Program, 'run' | 'args' | 'env' | 'files' | 'collect' | 'limits'>;
  readonly network: NetworkMode;
  /** What the interpreter would have loaded. */
  readonly preload: readonly string[];
}

/**
 * Why it has to start cold, in a few words; undefined where no program could tell the difference. An interpreter that waits
 * has read its variables and its files already, and has no relay.
 */
export function whyCold({ program, network, preload }: Candidate): string | undefined {
  const { run, args, env, files, collect, limits } = program;
  if (!('language' in run)) return 'it is a command';
  if (collect.length > 0) return 'files are collected';
  if (network === 'allowlist') return 'its network needs a relay';
  if (limits !== undefined) return 'it has limits of its own';
  if (!fitsIntoAStart(args, env)) return 'its arguments may be too long for a start';
  const variables = Object.keys(env);
  // What a module reads while it is loaded is known only to the module.
  if (preload.length > 0 && variables.length > 0) return 'variables come after what is loaded';
  const variable = variables.find((name) => isReadAtTheStart(run.language.name, name));
  if (variable !== undefined) return `${variable} is read at the start`;
  const path = Object.keys(files).find((name) => isFoundAtTheStart(run.language.name, name, preload));
  return path === undefined ? undefined : 'a file is looked for at the start';
}

/** Linux, MAX_ARG_STRLEN: no single argument and no variable may be longer, its NUL included (execve(2)). */
const MAX_STRING_BYTES = 128 * 1024;

/** All together: half of what a stack of 8 MB leaves for them, so that what is refused is refused as ever. */
const MAX_STRINGS_BYTES = 1024 * 1024;

/** Enough for `NAME=` and the path of the code. */
const ROOM = 512;

function fitsIntoAStart(args: readonly string[], env: Readonly<Record<string, string>>): boolean {
  let all = 0;
  const fits = (text: string): boolean => {
    const bytes = Buffer.byteLength(text) + 1;
    all += bytes;
    return bytes <= MAX_STRING_BYTES - ROOM && !text.includes('\0');
  };
  return args.every(fits) && Object.values(env).every(fits) && all <= MAX_STRINGS_BYTES;
}

/** Of the C library and what everybody links: the loader, the allocator, locales, time zones, TLS, threads. */
const ANYBODYS =
  /^(LD|LC|DYLD|MALLOC|GLIBC|OPENSSL|SSL|ICU|OMP|KMP|MKL|OPENBLAS|GOTO|BLIS|NUMEXPR|VECLIB)_|^(LANG|LANGUAGE|LOCPATH|NLSPATH|GCONV_PATH|TZ|TZDIR|HOME|PATH|PWD|OLDPWD|TMPDIR|POSIXLY_CORRECT|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|RES_OPTIONS|LOCALDOMAIN|HOSTALIASES)$/;

/** Of one interpreter alone; python(1), node(1), bash(1). */
const ITS_OWN: Readonly<Record<LanguageName, RegExp>> = {
  python: /^PYTHON|^__PYVENV_LAUNCHER__$/,
  javascript: /^(NODE|UV|V8|NPM|npm)_|^(NODE|CLICOLOR_FORCE|CLICOLOR|CI)$/,
  shell:
    /^BASH|^(SHELLOPTS|ENV|IFS|SHLVL|SHELL|PS4|CDPATH|GLOBIGNORE|EXECIGNORE|HISTFILE|HISTSIZE|HISTCONTROL|OPTIND|UID|EUID|PPID|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|INPUTRC|MAIL|MAILPATH|MAILCHECK|TMOUT|FUNCNEST|FIGNORE|COMP_WORDBREAKS|CHILD_MAX|_)$/,
};

function isReadAtTheStart(language: LanguageName, variable: string): boolean {
  return ANYBODYS.test(variable) || ITS_OWN[language].test(variable);
}

/** What Python looks for where it is installed, or in the home of its user, which the workspace is. */
const PYTHONS_FOLDERS = ['.local', '.config', '.pyenv', 'lib', 'lib64'];

function isFoundAtTheStart(language: LanguageName, path: string, preload: readonly string[]): boolean {
  if (language !== 'python') return false;
  const [first = '', ...rest] = pathInWorkspace(path);
  if (first === '' || first === '..' || PYTHONS_FOLDERS.includes(first)) return true;
  const module = first.split('.')[0] ?? '';
  const isImportable = rest.length > 0 || /\.(py[cdo]?|so)$/.test(first);
  if (/^(pyvenv\.cfg|pybuilddir\.txt)$|\.(pth|_pth|zip|egg)$/.test(first)) return true;
  // What is loaded while it waits hides a file of the same name, and what that loads in turn is not known here.
  return isImportable && (preload.length > 0 || PYTHON_MODULES.has(module) || module.startsWith('_'));
}

/** The parts of a path below the workspace; empty for one that is elsewhere. */
function pathInWorkspace(path: string): readonly string[] {
  const normal = posix.normalize(path);
  if (!normal.startsWith('/')) return normal.split('/');
  return normal.startsWith('/workspace/') ? normal.slice('/workspace/'.length).split('/') : [];
}
