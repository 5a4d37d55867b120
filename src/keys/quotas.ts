/** What each key has used. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { SandboxError } from '../errors.ts';
import type { Key, Quotas } from './key.ts';

const MINUTE_SEC = 60;
const HOUR_SEC = 3600;

/** When a sandbox of somebody ends nobody knows: so long nobody needs to ask again. */
const SANDBOX_RETRY_SEC = 30;

/** What a key is counted by. */
export type Counted = Pick<Key, 'id' | 'quotas'>;

/**
 * What each key has used, in the memory of one server: a minute or an hour begins with the first use in it, and all is
 * forgotten when the server ends. CPU time and bytes are known only afterwards, so who has some left may use more than that
 * once.
 */
export class Usage {
  readonly #executions = counter(MINUTE_SEC);
  readonly #cpuSeconds = counter(HOUR_SEC);
  readonly #bytes = counter(HOUR_SEC);

  /** Counts an execution, and the bytes it is given. Rejects with `QUOTA_EXCEEDED` where the key has used up what it may. */
  async admitExecution({ id, quotas }: Counted, bytes = 0): Promise<void> {
    await assertLeft(this.#cpuSeconds, id, 'cpuSecondsPerHour', quotas);
    await assertLeft(this.#bytes, id, 'bytesPerHour', quotas);
    const limit = quotas.executionsPerMinute;
    if (limit !== undefined) {
      // Counted before it is looked at: two at the same time are two.
      const { consumedPoints, msBeforeNext } = await this.#executions.penalty(id);
      if (consumedPoints > limit) throw exceeded('executionsPerMinute', limit, msBeforeNext);
    }
    await this.spend({ id, quotas }, { bytes });
  }

  /** Rejects with `QUOTA_EXCEEDED` where the key may not carry any more bytes. */
  async admitTransfer({ id, quotas }: Counted): Promise<void> {
    await assertLeft(this.#bytes, id, 'bytesPerHour', quotas);
  }

  /**
   * Throws `QUOTA_EXCEEDED` where the key has as many sandboxes as it may. `liveCount` is how many it has, with those that
   * are just being made.
   */
  admitSandbox({ quotas: { maxSandboxes } }: Counted, liveCount: number): void {
    if (maxSandboxes === undefined || liveCount < maxSandboxes) return;
    throw exceeded('maxSandboxes', maxSandboxes, SANDBOX_RETRY_SEC * 1000);
  }

  /** Counts what was used. */
  async spend(
    { id, quotas }: Counted,
    { cpuSec = 0, bytes = 0 }: { readonly cpuSec?: number; readonly bytes?: number },
  ): Promise<void> {
    if (quotas.cpuSecondsPerHour !== undefined && cpuSec > 0) await this.#cpuSeconds.penalty(id, cpuSec);
    if (quotas.bytesPerHour !== undefined && bytes > 0) await this.#bytes.penalty(id, bytes);
  }
}

/** Every key has a limit of its own, which is compared here: the counter has none. */
function counter(durationSec: number): RateLimiterMemory {
  return new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: durationSec });
}

async function assertLeft(
  used: RateLimiterMemory,
  id: string,
  quota: 'cpuSecondsPerHour' | 'bytesPerHour',
  { [quota]: limit }: Quotas,
): Promise<void> {
  if (limit === undefined) return;
  const { consumedPoints = 0, msBeforeNext = 0 } = (await used.get(id)) ?? {};
  if (consumedPoints >= limit && msBeforeNext > 0) throw exceeded(quota, limit, msBeforeNext);
}

const WORDS: Readonly<Record<keyof Quotas, { readonly name: string; readonly what: string }>> = {
  maxSandboxes: { name: 'max_sandboxes', what: 'sandboxes at once' },
  executionsPerMinute: { name: 'executions_per_minute', what: 'executions a minute' },
  cpuSecondsPerHour: { name: 'cpu_seconds_per_hour', what: 'CPU seconds an hour' },
  bytesPerHour: { name: 'bytes_per_hour', what: 'bytes an hour' },
};

function exceeded(quota: keyof Quotas, limit: number, waitMs: number): SandboxError {
  const { name, what } = WORDS[quota];
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const hint =
    quota === 'maxSandboxes'
      ? 'Destroy one that is needed no more, or ask the operator for a key with a higher quota.'
      : `Wait ${seconds} seconds, or ask the operator for a key with a higher quota.`;
  return new SandboxError(
    'QUOTA_EXCEEDED',
    `This key may have ${limit} ${what}, and has had them (${name}).`,
    {
      hint,
      details: { quota: name, limit, retry_after_sec: seconds },
    },
  );
}
