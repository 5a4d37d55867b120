import { loadSettings } from '../config/index.ts';
import { sweepRuntimes } from '../operations/sweep.ts';
import { folder } from './sandbox/here.ts';
import { sweepFolder } from './sandboxHost/addresses.ts';
import { isHostFolder } from './sandboxHost/folder.ts';

/** Removes what crashed processes of ours left behind; resolves to the exit status. */
export async function prune(flags: { readonly json?: boolean }): Promise<number> {
  const swept = await sweepRuntimes(await loadSettings());
  const removed: Record<string, number> = { ...swept.removed };
  const failures = [...swept.failures];
  try {
    // Of a background process that was killed, its socket and its log.
    removed['background'] = isHostFolder(folder()) ? await sweepFolder(folder()) : 0;
  } catch (error) {
    failures.push(error);
  }
  // One that cannot be swept must not keep the others from it; it is told when they are done.
  if (failures.length > 0) throw failures[0];
  const total = Object.values(removed).reduce((sum, count) => sum + count, 0);
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ removed, total })}\n`
      : total === 0
        ? 'Nothing was left behind.\n'
        : `Removed ${total} left behind by crashed runs.\n`,
  );
  return 0;
}
