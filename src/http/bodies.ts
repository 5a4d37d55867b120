import type { MiddlewareHandler } from 'hono';
import { SandboxError } from '../errors.ts';
import type { ServerEnv } from './route.ts';

/** The memory that bodies of requests take, all together. */
export class Bodies {
  readonly #most: number;
  readonly #held = new Map<string, number>();

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /**
   * Sets memory aside for a body, until its request is answered and what it began is over: as much as it says that it has,
   * or as much as it may have. Throws `QUOTA_EXCEEDED` where there is not enough, or where a key would have more than others
   * could have besides: one that sends much and slowly keeps nobody out.
   */
  hold(maxBytes: number): MiddlewareHandler<ServerEnv> {
    return async (context, next) => {
      const said = context.req.header('content-length');
      const size = Math.min(maxBytes, said === undefined ? maxBytes : Number(said) || 0);
      const owner = context.get('caller')?.id ?? '';
      const own = this.#heldBy(owner);
      const free = this.#most - [...this.#held.values()].reduce((total, held) => total + held, 0);
      // Whoever has nothing yet may have all that is free: a body may be as large as that.
      if (size > free || (own > 0 && own + size > free - size)) throw full();
      this.#held.set(owner, own + size);
      const release = (): void => {
        const left = this.#heldBy(owner) - size;
        if (left > 0) this.#held.set(owner, left);
        else this.#held.delete(owner);
      };
      try {
        await next();
      } finally {
        void Promise.resolve(context.get('inUse')).then(release);
      }
    };
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }
}

function full(): SandboxError {
  return new SandboxError('QUOTA_EXCEEDED', 'The server holds as much of what is sent to it as it can.', {
    hint: 'Send it again in a moment.',
    details: { retry_after_sec: 1 },
  });
}
