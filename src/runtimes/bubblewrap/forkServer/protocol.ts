/** What is said between the fork server (`forkServer.py`) and us. Pure. */
import { refuseNul } from '../../host/launcher.ts';
import type { Command } from '../../runtime.ts';

/** What the server is told first, a line each. */
export interface Beginning {
  /** Whether it is the host's root, which gives it users of its own. */
  readonly isRoot: boolean;
  readonly network: 'own' | 'inherited';
  /** The filter on system calls, as the kernel takes it. */
  readonly seccomp: Uint8Array;
  /** What makes a keeper, as it stands in memory. */
  readonly keeper: Uint8Array;
  /** What makes a holder of memory, as it stands in memory. */
  readonly holder: Uint8Array;
  /** Modules that it imports, for all that it will make. */
  readonly preload: readonly string[];
}

/** The first lines for a server. */
export function beginningLines({ isRoot, network, seccomp, keeper, holder, preload }: Beginning): string {
  const inHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const codes = [seccomp, keeper, holder].map(inHex);
  const lines = [isRoot ? 'root' : 'user', network === 'own' ? 'own' : 'host', ...codes, preload.join(',')];
  return lines.map((line) => `${line}\n`).join('');
}

/** What a program to be made is held to; the resource limits are those of setrlimit(2), absent where there is none. */
export interface ChildLimits {
  readonly diskKb: number;
  readonly inodes: number;
  readonly openFiles: number;
  readonly fileBytes: number;
  readonly cpuSec: number;
  readonly dataBytes?: number;
  readonly processes?: number;
}

/** What one does before it is ready. */
export interface Preparation {
  /** It goes once through what most programs do: the server's own Python, where nobody waits for it yet. */
  readonly rehearses: boolean;
  /** It lets its memory be held, so that it ends at once: where nobody waits for it yet, and it stays what it is. */
  readonly isHeld: boolean;
}

/** The line that asks for one. */
export function makeLine(id: number, { rehearses, isHeld }: Preparation, limits: ChildLimits): string {
  const { diskKb, inodes, openFiles, fileBytes, cpuSec, dataBytes = -1, processes = -1 } = limits;
  const core = 0;
  const rlimits = [core, openFiles, fileBytes, cpuSec, dataBytes, processes];
  return `make ${[id, Number(rehearses), Number(isHeld), diskKb, inodes, ...rlimits].join(' ')}\n`;
}

/** The descriptors, in the server, of which we open the other ends. */
export interface ServerEnds {
  readonly stdin: number;
  readonly stdout: number;
  readonly stderr: number;
  readonly orders: number;
  readonly report: number;
}

/** What the server answers. */
export type Answer =
  | { readonly is: 'ready' | 'map' }
  /** `user` is the program's, in the numbers of the server. */
  | { readonly is: 'made'; readonly id: number; readonly user: number; readonly ends: ServerEnds }
  | { readonly is: 'failed'; readonly what: string; readonly why: string };

/** Throws for what no server of ours says. */
export function parseAnswer(line: string): Answer {
  const [is, ...words] = line.split(' ');
  if (is === 'ready' || is === 'map') return { is };
  if (is === 'failed') return { is, what: words[0] ?? '', why: words.slice(1).join(' ') };
  const numbers = words.map(Number);
  if (is !== 'made' || numbers.length !== 8 || !numbers.every(Number.isSafeInteger)) {
    throw new Error(`The fork server said ${JSON.stringify(line.slice(0, 200))}.`);
  }
  const [id = 0, , user = 0, stdin = 0, stdout = 0, stderr = 0, orders = 0, report = 0] = numbers;
  return { is, id, user, ends: { stdin, stdout, stderr, orders, report } };
}

/** What a program is told to become. */
export interface ProgramOrders {
  /** Bytes for its standard input, or a pipe that it has already, or nothing. */
  readonly stdin: Command['stdin'] | undefined;
  /** Whether it runs the program's file itself, with arguments, or becomes a command, the path of which comes first. */
  readonly becomes: 'python' | 'command';
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What is put into the workspace first, by path in it. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/**
 * Orders as the program's process takes them, piece by piece: words, then the bytes of its input and of its files. Throws
 * `INPUT_INVALID` for a NUL, which ends a word for the kernel.
 */
export function programOrders({ stdin, becomes, args, env, files }: ProgramOrders): Uint8Array[] {
  const input = stdin instanceof Uint8Array ? stdin : undefined;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = [
    ...[becomes, input === undefined ? (stdin ?? 'nothing') : 'file', input?.byteLength ?? 0],
    ...[args.length, ...args],
    ...[files.size, ...[...files].flatMap(([path, { byteLength }]) => [path, byteLength])],
    ...variables,
  ].map(String);
  refuseNul(words);
  const text = Buffer.from(words.map((word) => `${word}\0`).join(''));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return [Buffer.concat([length, text]), ...(input === undefined ? [] : [input]), ...files.values()];
}
