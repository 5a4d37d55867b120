import { loadRuntime, RUNTIME_NAMES } from '../runtimes/registry.ts';

/** Removes what crashed processes of ours left behind; resolves to the exit status. */
export async function prune(flags: { readonly json?: boolean }): Promise<number> {
  const removed: Record<string, number> = {};
  for (const name of RUNTIME_NAMES) {
    const runtime = await loadRuntime(name);
    removed[name] = (await runtime.sweep?.()) ?? 0;
  }
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
