import { SandboxError } from '../../errors.ts';
import type { LanguageName } from '../../languages/language.ts';
import type { Context } from '../context.ts';
import type { SandboxContext } from '../contexts.ts';
import type { LiveSandbox } from '../liveSandbox.ts';
import type { ManagedSandboxOptions, SandboxInfo, SandboxManager } from '../sandboxManager.ts';

type Options = Pick<ManagedSandboxOptions, 'language' | 'networkEnabled' | 'allowedDomains' | 'signal'>;

/** So many ids are known, also of sandboxes that have ended: whoever asks for one is told why. */
const REMEMBERED = 1000;

/** The sandboxes that one agent has made, with one context of each language. Those of others are not known here. */
export class KeptSandboxes {
  readonly #context: Context;
  readonly #manager: SandboxManager;
  readonly #own = new Map<string, Map<LanguageName, Promise<SandboxContext>>>();

  constructor(context: Context, manager: SandboxManager) {
    this.#context = context;
    this.#manager = manager;
  }

  /** Throws `QUOTA_EXCEEDED` where there are as many as there may be. */
  async create(options: Options): Promise<LiveSandbox> {
    const id = await this.#manager.createSandboxWith(this.#context, options);
    this.#own.set(id, new Map());
    this.#forgetOldest();
    return this.#manager.get(id);
  }

  /** Throws `SANDBOX_NOT_FOUND` for one that is not of this agent, and `SANDBOX_CLOSED` for one that has ended. */
  get(id: string): LiveSandbox {
    if (this.#own.has(id)) return this.#manager.get(id);
    const shown = id.slice(0, 64);
    throw new SandboxError('SANDBOX_NOT_FOUND', `There is no sandbox ${JSON.stringify(shown)}.`, {
      hint: 'Make one with sandbox_id "new"; the answer has its id.',
      details: { sandboxId: shown },
    });
  }

  /** The context of a language, which is started where there is none that lives. */
  async context({ id }: LiveSandbox, language: LanguageName): Promise<SandboxContext> {
    const contexts = this.#own.get(id);
    for (;;) {
      const known = contexts?.get(language);
      // Nothing is waited for between looking and starting: two calls at once share one.
      const starting = known ?? this.get(id).context(language);
      contexts?.set(language, starting);
      const forget = (): void => {
        if (contexts?.get(language) === starting) contexts.delete(language);
      };
      const context = await starting.catch((error: unknown) => {
        forget();
        throw error;
      });
      if (context.ended === undefined || known === undefined) return context;
      forget();
    }
  }

  /** Those that live. */
  list(): readonly SandboxInfo[] {
    return this.#manager.list().filter(({ id }) => this.#own.has(id));
  }

  /** Throws `SANDBOX_NOT_FOUND`; one that has ended is what was asked for. */
  async destroy(id: string): Promise<void> {
    if (!this.#own.has(id)) this.get(id);
    await this.#manager.destroySandbox(id);
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    const ends = await Promise.allSettled(this.list().map(({ id }) => this.#manager.destroySandbox(id)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Never those that live: they would have no owner any more. */
  #forgetOldest(): void {
    const living = new Set(this.list().map(({ id }) => id));
    for (const oldest of this.#own.keys()) {
      if (this.#own.size <= REMEMBERED) break;
      if (!living.has(oldest)) this.#own.delete(oldest);
    }
  }
}
