import { isSandboxError } from '../errors.ts';
import type { Context } from '../operations/context.ts';
import type { Life } from './parts.ts';

/** For so long what the runtime said is believed: whoever asks often costs it nothing. */
const BELIEVED_MS = 5000;

/** Whether work is taken. */
export class Readiness {
  readonly #life: Life;
  readonly #context: Context;
  #looked: { readonly at: number; readonly reason: Promise<string | undefined> } | undefined;

  constructor(life: Life, context: Context) {
    this.#life = life;
    this.#context = context;
  }

  /** Resolves to the reason in a sentence; to undefined where there is none. */
  async whyNot(): Promise<string | undefined> {
    if (this.#life.isDraining) return 'The server is ending.';
    if (this.#looked === undefined || performance.now() - this.#looked.at > BELIEVED_MS) {
      this.#looked = { at: performance.now(), reason: probe(this.#context) };
    }
    return this.#looked.reason;
  }
}

/** The fallback takes the place of a runtime that does not work. */
async function probe({ runtime, fallback }: Context): Promise<string | undefined> {
  const reason = await reasonOf(runtime);
  if (reason === undefined || fallback === undefined) return reason;
  return reasonOf(fallback.load);
}

async function reasonOf(load: Context['runtime']): Promise<string | undefined> {
  try {
    const probed = await (await load()).probe();
    return probed.available ? undefined : probed.reason;
  } catch (error) {
    return isSandboxError(error) ? error.message : 'The runtime cannot be asked.';
  }
}
