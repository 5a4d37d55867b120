import { randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import type { SandboxContext } from '../operations/contexts.ts';
import type { LiveSandbox } from '../operations/liveSandbox.ts';
import { notFound } from './errors.ts';

/** Of one sandbox; each is a process in it, and more of them than that is no use but a leak. */
const MOST = 50;

/** The contexts of live sandboxes, by their ids. */
export class Contexts {
  readonly #all = new Map<string, Map<string, SandboxContext>>();

  /** How many are being started. */
  readonly #making = new WeakMap<Map<string, SandboxContext>, number>();

  /** Starts one. Throws `QUOTA_EXCEEDED` where the sandbox has too many. */
  async open(sandbox: LiveSandbox, start: () => Promise<SandboxContext>): Promise<string> {
    const own = this.#of(sandbox);
    for (const [id, context] of own) if (context.ended !== undefined) own.delete(id);
    const making = this.#making.get(own) ?? 0;
    if (own.size + making >= MOST) {
      throw new SandboxError('QUOTA_EXCEEDED', `The sandbox has ${own.size + making} contexts.`, {
        hint: 'End one first: DELETE /v1/sandboxes/{id}/contexts/{context}',
      });
    }
    this.#making.set(own, making + 1);
    try {
      const id = randomUUID();
      own.set(id, await start());
      return id;
    } finally {
      this.#making.set(own, (this.#making.get(own) ?? 1) - 1);
    }
  }

  /** Throws what is answered with 404. */
  get(sandbox: LiveSandbox, id: string): SandboxContext {
    const found = this.#of(sandbox).get(id);
    if (found === undefined) throw notFound('context', id);
    return found;
  }

  async close(sandbox: LiveSandbox, id: string): Promise<void> {
    await this.get(sandbox, id).close();
    this.#of(sandbox).delete(id);
  }

  #of({ id, whenEnded }: LiveSandbox): Map<string, SandboxContext> {
    const known = this.#all.get(id);
    if (known !== undefined) return known;
    const own = new Map<string, SandboxContext>();
    this.#all.set(id, own);
    void whenEnded.then(() => this.#all.delete(id));
    return own;
  }
}
