import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { ensureBuilt, MAIN } from './build.ts';

export interface Invocation {
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** All of it; `open` is a pipe that stays open and empty, and without any it is the null device. */
  readonly stdin?: string | Uint8Array | 'open';
  /** Put before `node main.js`, as in `['unshare', '-m', …]`. */
  readonly wrapper?: readonly string[];
  readonly deadlineMs?: number;
}

export interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What it wrote to standard output, undecoded. */
  readonly bytes: Buffer;
  readonly pid: number;
  readonly seconds: number;
}

export interface Running {
  readonly pid: number;
  readonly stdin: Writable | null;
  readonly finished: Promise<Finished>;
  stdout(): string;
  /** Resolves as soon as standard output holds the text; rejects when it ends without. */
  prints(text: string): Promise<void>;
}

/** The built command in surroundings of its own for each test: folder, home, settings and temporary folder. */
export interface Command {
  /** The folder that the command is started in; empty at the beginning. */
  readonly folder: string;
  /** Where its temporary files go; nothing else does. */
  readonly temporary: string;
  readonly home: string;
  /** Writes a file into the folder, or into any other by an absolute path, and resolves to its path. */
  file(path: string, content: string): string;
  run(args: readonly string[], invocation?: Invocation): Promise<Finished>;
  start(args: readonly string[], invocation?: Invocation): Promise<Running>;
}

const DEADLINE_MS = 30_000;

/** Makes new surroundings before each test of the file or block, and removes them with all that still runs. */
export function useCommand(): Command {
  let root = '';
  const children = new Set<ChildProcess>();
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'gbx-e2e-')));
    for (const name of ['home', 'folder', 'tmp']) mkdirSync(join(root, name));
  });
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
    rmSync(root, { recursive: true, force: true });
  });

  const command: Command = {
    get folder() {
      return join(root, 'folder');
    },
    get temporary() {
      return join(root, 'tmp');
    },
    get home() {
      return join(root, 'home');
    },
    file(path, content) {
      const whole = path.startsWith('/') ? path : join(command.folder, path);
      mkdirSync(dirname(whole), { recursive: true });
      writeFileSync(whole, content);
      return whole;
    },
    async run(args, invocation) {
      return (await command.start(args, invocation)).finished;
    },
    async start(args, { env = {}, stdin, wrapper = [], deadlineMs = DEADLINE_MS } = {}) {
      await ensureBuilt();
      const [file = '', ...rest] = [...wrapper, process.execPath, MAIN, ...args];
      const startedAt = performance.now();
      const child = spawn(file, rest, {
        cwd: command.folder,
        env: { ...cleanEnvironment(command), ...env },
        // A group of its own, as a shell would give it.
        detached: true,
        stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
      children.add(child);
      // EPIPE: it ended without reading all of it, which is its own business.
      child.stdin?.on('error', () => {});
      if (stdin !== undefined && stdin !== 'open') child.stdin?.end(stdin);
      return watch(child, startedAt, deadlineMs, args);
    },
  };
  return command;
}

function cleanEnvironment({ home, temporary }: Command): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CACHE_HOME: join(home, 'cache'),
    TMPDIR: temporary,
  };
}

function watch(child: ChildProcess, startedAt: number, deadlineMs: number, args: readonly string[]): Running {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
  let closed = false;
  const finished = new Promise<Finished>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(
        new Error(
          `glovebox ${args.join(' ')} has not ended after ${deadlineMs} ms.\n${text(stdout)}${text(stderr)}`,
        ),
      );
    }, deadlineMs);
    child.once('error', reject);
    child.once('close', (status, signal) => {
      clearTimeout(timer);
      closed = true;
      resolve({
        status,
        signal,
        stdout: text(stdout),
        stderr: text(stderr),
        bytes: Buffer.concat(stdout),
        pid: child.pid ?? 0,
        seconds: (performance.now() - startedAt) / 1000,
      });
    });
  });
  // Whoever started it may only want to see it print something.
  finished.catch(() => {});
  return {
    pid: child.pid ?? 0,
    stdin: child.stdin,
    finished,
    stdout: () => text(stdout),
    async prints(wanted) {
      await eventually(`glovebox prints ${JSON.stringify(wanted)}`, () => {
        if (text(stdout).includes(wanted)) return true;
        if (closed) throw new Error(`It ended without: ${text(stdout)}${text(stderr)}`);
        return false;
      });
    },
  };
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8');
}
