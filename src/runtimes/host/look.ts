/**
 * A look inside a root file system that is not the host's, from a sandbox of it that is held like every other
 * one: which interpreters it has, and how a program there is held.
 */
import { findLanguage } from '../../languages/index.ts';
import { LANGUAGE_NAMES, type LanguageName } from '../../languages/language.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ByteSource, Guest } from '../runtime.ts';
import { shellWord } from './shellWord.ts';

/** What one look inside found. */
export interface Look {
  readonly interpreters: ReadonlyMap<LanguageName, { readonly path: string; readonly version: string }>;
  /** Whether a program there is under a seccomp filter. */
  readonly seccomp: boolean;
  /** The kernel's release, and lines of `/proc/self/status`, by their names. */
  readonly facts: ReadonlyMap<string, string>;
}

/** What is in force while somebody looks; interpreters start a few threads. */
export const LOOK_POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: { value: 128, default: true },
    diskMb: { value: 1, default: true },
    processes: { value: 32, default: true },
    timeoutSec: { value: 30, default: true },
  },
  requires: {},
};

/** The end of what {@link LOOK} prints; without it, it was cut off. */
const END = 'end';

/**
 * A shell script that prints, a line each: facts from `/proc/self/status`, the kernel's release, and for each
 * language its name, the interpreter's path and its version.
 */
export const LOOK = [
  `sed -n 's/^\\(Uid\\|NoNewPrivs\\|Seccomp\\|Cap[A-Z][a-z]*\\):[[:space:]]*/fact \\1 /p' /proc/self/status`,
  `printf 'fact kernel %s\\n' "$(uname -r)"`,
  ...LANGUAGE_NAMES.flatMap((name) => {
    const { candidates, describe } = findLanguage(name).host;
    const words = describe.map(shellWord).join(' ');
    return [
      `for candidate in ${candidates.join(' ')}; do`,
      '  found=$(command -v "$candidate") || continue',
      `  said=$("$found" ${words} 2>/dev/null | tr '\\000' '\\n') || continue`,
      `  printf 'language ${name}\\n%s\\nlanguage end\\n' "$said"`,
      '  break',
      'done',
    ];
  }),
  `echo ${END}`,
].join('\n');

/** What {@link LOOK} printed; undefined when it was cut off. Pure. */
export function parseLook(text: string): Look | undefined {
  const lines = text.trimEnd().split('\n');
  if (lines.pop() !== END) return undefined;
  const facts = new Map<string, string>();
  const interpreters = new Map<LanguageName, { path: string; version: string }>();
  for (let at = 0; at < lines.length; at++) {
    const [, name = '', value = ''] = /^fact (\S+) (.*)$/.exec(lines[at] ?? '') ?? [];
    if (name !== '') facts.set(name, value);
    const language = LANGUAGE_NAMES.find((known) => lines[at] === `language ${known}`);
    const [path = '', version = ''] = lines.slice(at + 1, at + 3);
    if (language !== undefined && path.startsWith('/')) interpreters.set(language, { path, version });
  }
  return { facts, interpreters, seccomp: facts.get('Seccomp') === '2' };
}

/** An interpreter that never answers, or never stops, is not waited for. */
const DEADLINE_MS = 60_000;
const MOST_BYTES = 64 * 1024;

/** Looks from inside this guest; resolves to what was printed, complained and returned. */
export async function lookFrom(
  guest: Guest,
): Promise<{ readonly said: string; readonly complained: string; readonly code: number }> {
  const program = await guest.spawn({ argv: ['/bin/sh', '-c', LOOK], env: guest.environment });
  const end = (): Promise<void> => program.kill('SIGKILL');
  const deadline = setTimeout(end, DEADLINE_MS);
  try {
    const [said, complained, { code }] = await Promise.all([
      readSome(program.stdout, end),
      readSome(program.stderr, end),
      program.exit,
    ]);
    return { said, complained: complained.trim(), code };
  } finally {
    clearTimeout(deadline);
  }
}

/** Reads to the end, which it asks for when it has read enough. */
async function readSome(source: ByteSource, enough: () => Promise<void>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source) {
    if (size > MOST_BYTES) continue;
    chunks.push(Buffer.from(chunk));
    size += chunk.byteLength;
    if (size > MOST_BYTES) await enough();
  }
  return Buffer.concat(chunks).toString();
}
