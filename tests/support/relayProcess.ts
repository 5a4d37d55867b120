/** The relay as an ordinary process of this host, where it shares the host's loopback. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { relayProgram } from '../../src/runtimes/relay/relay.ts';

/** Why it cannot be tried on this machine. */
export const NO_RELAY =
  process.platform !== 'linux' || relayProgram(process.arch) === undefined
    ? `there is none for ${process.platform} on ${process.arch}`
    : undefined;

export type RelayChild = ChildProcessByStdio<Writable, Readable, Readable>;

/** The program in a folder of its own, and what was started of it; to be closed. */
export class RelayFolder {
  readonly folder = mkdtempSync(join(tmpdir(), 'relay-test-'));
  readonly file = join(this.folder, 'relay');
  readonly #children = new Set<RelayChild>();

  constructor() {
    writeFileSync(this.file, relayProgram(process.arch) ?? '', { mode: 0o755 });
    // Others than us start it too.
    chmodSync(this.folder, 0o755);
  }

  /** Starts it, by way of another program's arguments perhaps. */
  start(argument: string, through: readonly string[] = []): RelayChild {
    const [file = '', ...args] = [...through, this.file, argument];
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // EPIPE: it ended before it read all.
    child.stdin.on('error', () => {});
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }),
    );
    rmSync(this.folder, { recursive: true });
  }
}

/** A port of the loopback that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
