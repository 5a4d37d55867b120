import { availableParallelism } from 'node:os';
import type { Context } from '../context.ts';

/**
 * Does something with the same settings, and keeps sandboxes ready for it meanwhile; unless the settings say that none are
 * kept ready. Resolves when those that are left are gone.
 */
export async function whileWarm<T>(context: Context, action: (context: Context) => Promise<T>): Promise<T> {
  const { settings } = context.loaded;
  if (settings.warm === 'off') return action(context);
  const { Warmth } = await import('../warmth.ts');
  const warmth = Warmth.open(settings);
  try {
    return await action({ ...context, warmth });
  } finally {
    await warmth.close();
  }
}

/** How many may run at a time: a batch waits for room, where others would be refused it (`warm.max_concurrent`). Pure. */
export function concurrencyFor(
  { loaded: { settings } }: Pick<Context, 'loaded'>,
  wanted: number = availableParallelism(),
): number {
  return settings.warm === 'off' ? wanted : Math.min(wanted, settings.warmMaxConcurrent ?? wanted);
}
