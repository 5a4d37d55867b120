/** The console: pages for people, over the operations of the server that it belongs to. */
import { type Context, Hono } from 'hono';
import type { ConsoleBackend } from './backend.ts';
import { FrontDesk } from './frontDesk.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { assetRoutes } from './routes/assets.ts';
import { auditRoutes } from './routes/audit.ts';
import { liveRoutes } from './routes/live.ts';
import { signInRoutes } from './routes/signIn.ts';
import { siteOf } from './site.ts';

export interface ConsoleOptions {
  /** Where browsers find it, as `https://glovebox.example.org`, where that is not the address of the requests. */
  readonly publicUrl?: string;
  /** From where a request comes, for counting what tries to sign in; the socket's address when absent. */
  readonly addressOf?: (context: Context) => string;
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

/**
 * The console as an application to be mounted at `/`. It answers its own paths only: `/`, `/sign-in`, `/sign-out`,
 * `/approvals`, `/grants`, `/sandboxes`, `/executions`, `/audit`, `/events` and `/assets`.
 */
export function consoleApp(backend: ConsoleBackend, options: ConsoleOptions = {}): Hono {
  const { publicUrl, addressOf = socketAddress, now = Date.now } = options;
  const desk = new FrontDesk(backend, {
    ...{ addressOf, now },
    ...(publicUrl === undefined ? {} : { publicUrl }),
  });
  const app = new Hono();
  const site = siteOf(app, { backend, desk, now });
  assetRoutes(site);
  signInRoutes(site);
  liveRoutes(site);
  approvalRoutes(site);
  auditRoutes(site);
  return app;
}

function socketAddress(context: Context): string {
  const { incoming } = (context.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  return incoming?.socket?.remoteAddress ?? 'unknown';
}
