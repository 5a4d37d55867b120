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
