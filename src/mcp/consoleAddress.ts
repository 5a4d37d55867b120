import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const SERVE_FILE = z.object({ url: z.url({ protocol: /^https?$/ }), pid: z.int().positive() });

/** The address of the console that a running `glovebox serve` of this user has. */
export async function consoleAddress(stateFolder: string): Promise<string | undefined> {
  try {
    const { url, pid } = SERVE_FILE.parse(
      JSON.parse(await readFile(join(stateFolder, 'serve.json'), 'utf8')),
    );
    process.kill(pid, 0);
    // Nothing of it but where it is: an address may hold a password.
    return new URL(url).origin;
  } catch {
    // Nobody serves one: there is no such file, it is not whole, or whoever wrote it has ended.
    return undefined;
  }
}
