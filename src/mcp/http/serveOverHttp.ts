import { Hono } from 'hono';
import { bearerOf, sameSecret } from '../../web/bearer.ts';
import { errorResponse } from '../../web/errors.ts';
import { guards, jsonOnly, limitBody } from '../../web/guard.ts';
import { type Listening, type ListenOptions, listen } from '../../web/listen.ts';
import { rpcError } from './rpcError.ts';
import { Sessions, type SessionsOptions } from './sessions.ts';

/** The longest message, in bytes: a file of 10 MB that is written as base64 fits. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

export interface HttpOptions
  extends Pick<ListenOptions, 'host' | 'port' | 'allowRemote'>,
    Omit<SessionsOptions, 'maxBodyBytes'> {
  /** What every request has to bring along. */
  readonly token: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** Where the protocol is spoken. */
export const MCP_PATH = '/mcp';

/** Serves clients that know the token. Rejects where it cannot listen there; see `listen`. */
export async function serveOverHttp(options: HttpOptions): Promise<Listening> {
  const { host, port, allowRemote = false, token, onWarning } = options;
  const onUnexpected = (error: unknown): void =>
    onWarning(`unexpected: ${error instanceof Error ? error.stack : String(error)}`);
  const sessions = new Sessions({ ...options, maxBodyBytes: MAX_BODY_BYTES });
  const app = new Hono();
  app.use(...guards(options));
  app.use(async ({ req }, next) => {
    const given = bearerOf(req.header('authorization'));
    if (given !== undefined && sameSecret(given, token)) return next();
    return rpcError(401, 'The token is missing or wrong: send it as Authorization: Bearer TOKEN.', {
      'www-authenticate': 'Bearer',
    });
  });
  app.use(jsonOnly(), limitBody(MAX_BODY_BYTES));
  app.all(MCP_PATH, ({ req }) => sessions.fetch(req.raw));
  app.notFound(() => rpcError(404, `There is nothing here; the protocol is spoken at ${MCP_PATH}.`));
  app.onError((error) => errorResponse(error, { onUnexpected }));
  try {
    const listening = await listen(app.fetch, { host, port, allowRemote, onUnexpected });
    return {
      ...listening,
      async close(closing) {
        await sessions.close();
        await listening.close(closing);
      },
    };
  } catch (error) {
    await sessions.close();
    throw error;
  }
}
