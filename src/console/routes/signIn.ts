import { plainPage } from '../pages/layout.ts';
import { signInContent } from '../pages/plain.ts';
import type { Site } from '../site.ts';

/** Getting in and out. */
export function signInRoutes({ desk, open, take, act }: Site): void {
  open('/sign-in', async (context) =>
    context.html(plainPage('Sign in', signInContent(ownPath(context.req.query('next'))))),
  );
  take('/sign-in', async (context, { secret, next }) => {
    const path = ownPath(next);
    const tried = await desk.signIn(context, typeof secret === 'string' ? secret : '');
    if (tried.outcome === 'signed in') return context.redirect(path, 303);
    if (tried.outcome === 'refused') {
      const message = 'This key may not enter: it is unknown, revoked or expired, or has another scope.';
      return context.html(plainPage('Sign in', signInContent(path, message)), 401);
    }
    context.header('retry-after', String(tried.seconds));
    const message = `Too many tries. Wait ${tried.seconds} s, then try again.`;
    return context.html(plainPage('Sign in', signInContent(path, message)), 429);
  });
  act('/sign-out', undefined, async (context) => {
    desk.signOut(context);
    return context.redirect('/sign-in', 303);
  });
}

/** A path of ours to go on with; nothing that leads elsewhere. */
function ownPath(next: unknown): string {
  return typeof next === 'string' && /^\/(?:[\w-][\w./-]*)?$/.test(next) ? next : '/';
}
