import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';

/** How many tries to sign in may fail in a minute. */
const PER_ADDRESS = 5;
const IN_ALL = 100;
const WINDOW_SEC = 60;

/** Slows down whoever tries secrets: from one address, and from many at once. */
export class SignInLimit {
  readonly #perAddress = new RateLimiterMemory({ points: PER_ADDRESS, duration: WINDOW_SEC });
  readonly #inAll = new RateLimiterMemory({ points: IN_ALL, duration: WINDOW_SEC });

  /**
   * Counts a try before it is looked at, so that tries at the same time count as well. Resolves to the seconds to wait
   * where it must not be looked at, and to 0 otherwise.
   */
  async begin(address: string): Promise<number> {
    try {
      await this.#perAddress.consume(address);
      await this.#inAll.consume('all');
      return 0;
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      return Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
    }
  }

  /** What succeeded does not count. */
  async succeeded(address: string): Promise<void> {
    await this.#perAddress.delete(address);
    await this.#inAll.reward('all');
  }
}
