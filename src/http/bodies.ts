import type { MiddlewareHandler } from 'hono';
import { SandboxError } from '../errors.ts';

/** The memory that bodies of requests take, all together. */
export class Bodies {
  readonly #most: number;
  #held = 0;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /**
   * Sets memory aside for a body, until its request is answered: as much as it says that it has, or as much as it may have.
   * Throws `QUOTA_EXCEEDED` where there is not enough.
   */
  hold(maxBytes: number): MiddlewareHandler {
    return async ({ req }, next) => {
      const said = req.header('content-length');
      const size = Math.min(maxBytes, said === undefined ? maxBytes : Number(said) || 0);
      if (this.#held + size > this.#most) throw full();
      this.#held += size;
      try {
        await next();
      } finally {
        this.#held -= size;
      }
    };
  }
}

function full(): SandboxError {
  return new SandboxError('QUOTA_EXCEEDED', 'The server holds as much of what is sent to it as it can.', {
    hint: 'Send it again in a moment.',
    details: { retry_after_sec: 1 },
  });
}
