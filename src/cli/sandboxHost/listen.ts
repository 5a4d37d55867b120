/** Taking the name of a socket: of many processes that want it at once, one gets it. */
import { chmodSync, linkSync } from 'node:fs';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { answers, newSocketOf, removeDead, removeIfThere, socketOf } from './addresses.ts';
import { makeHostFolder } from './folder.ts';

const DEADLINE_MS = 15_000;

/** How long somebody else who removes a dead socket is left alone before it is looked again. */
const AGAIN_MS = 10;

/**
 * Listens, and gives the socket its name when nobody else has it; resolves to false when somebody answers there. A
 * link is made only where nothing is, and only of a socket that already answers, so nobody sees one that does not.
 */
export async function takeSocket(server: Server, folder: string, surroundings: string): Promise<boolean> {
  const own = newSocketOf(folder, surroundings, process.pid);
  const name = socketOf(folder, surroundings);
  await listen(server, folder, own);
  try {
    for (const deadline = Date.now() + DEADLINE_MS; ; ) {
      const got = link(own, name);
      if (got === 'done') return true;
      if (got === 'folder gone') {
        await close(server);
        await listen(server, folder, own);
      } else if (await answers(name)) {
        await close(server);
        return false;
      } else if (!(await removeDead(name))) {
        await delay(AGAIN_MS);
      }
      if (Date.now() > deadline) throw stuck(name);
    }
  } finally {
    removeIfThere(own);
  }
}

async function listen(server: Server, folder: string, path: string): Promise<void> {
  makeHostFolder(folder);
  removeIfThere(path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
  chmodSync(path, 0o600);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function link(from: string, to: string): 'done' | 'taken' | 'folder gone' {
  try {
    linkSync(from, to);
    return 'done';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return 'taken';
    // The last process of before has removed it, with our new socket in it.
    if (code === 'ENOENT') return 'folder gone';
    throw error;
  }
}

function stuck(name: string): SandboxError {
  return new SandboxError('SANDBOX_FAILED', `The socket ${JSON.stringify(name)} could not be taken.`, {
    hint: `Remove the folder that it is in.`,
    details: { path: name },
  });
}
