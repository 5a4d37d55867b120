/** Answers that come for as long as somebody reads them. */
import type { MiddlewareHandler } from 'hono';
import { SandboxError } from '../errors.ts';
import type { Caller, Keys } from './keys.ts';
import type { ServerEnv } from './route.ts';

/** Of one key at a time: each has a connection of its own, and some must be left for others. */
const MOST = 250;

/** For so long a key is believed to hold that did. */
const BELIEVED_MS = 1000;

export class Streams {
  readonly #keys: Keys;
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(keys: Keys, most: number = MOST) {
    this.#keys = keys;
    this.#most = most;
  }

  /**
   * Ends an answer once the key that asked for it holds no more: nothing is told after that. Throws `QUOTA_EXCEEDED` where
   * the key has as many answers open as it may.
   */
  follow(): MiddlewareHandler<ServerEnv> {
    return async (context, next) => {
      const { caller } = context.var;
      if (caller === undefined) return next();
      const count = this.#open.get(caller.id) ?? 0;
      if (count >= this.#most) throw tooMany(this.#most);
      this.#open.set(caller.id, count + 1);
      let isOver = false;
      const over = (): void => {
        if (isOver) return;
        isOver = true;
        const left = (this.#open.get(caller.id) ?? 1) - 1;
        if (left > 0) this.#open.set(caller.id, left);
        else this.#open.delete(caller.id);
      };
      let body: ReadableStream<Uint8Array> | null = null;
      try {
        await next();
        ({ body } = context.res);
      } finally {
        if (body === null) over();
      }
      if (body === null) return;
      if (context.req.method === 'HEAD') {
        over();
        await body.cancel();
        return;
      }
      const { status, headers } = context.res;
      const followed = whileHeld(body, this.#watch(caller), over);
      context.res = new Response(followed, { status, headers });
    };
  }

  /** Whether it holds still, looked at no more often than needed. */
  #watch({ id }: Caller): () => boolean {
    let lookedAt = performance.now();
    return () => {
      const now = performance.now();
      if (now - lookedAt < BELIEVED_MS) return true;
      lookedAt = now;
      return this.#keys.find(id) !== undefined;
    };
  }
}

/** Passes on what comes as long as it may, at the reader's pace. */
function whileHeld(
  body: ReadableStream<Uint8Array>,
  isHeld: () => boolean,
  over: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done && isHeld()) return controller.enqueue(value);
          over();
          controller.close();
          if (!done) await reader.cancel();
        } catch (error) {
          over();
          controller.error(error);
        }
      },
      async cancel(reason) {
        over();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function tooMany(most: number): SandboxError {
  return new SandboxError('QUOTA_EXCEEDED', `This key reads ${most} answers already that go on.`, {
    hint: 'End some of them first, or ask for results without following them: GET /v1/executions/{id}',
    details: { retry_after_sec: 5 },
  });
}
