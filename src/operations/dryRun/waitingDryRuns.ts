import { SandboxError } from '../../errors.ts';
import type { LiveSandbox } from '../liveSandbox.ts';
import type { DryRun } from './dryRun.ts';

/** Each holds what it would write: of a sandbox only the last ones are kept. */
const KEPT = 10;

/** The dry runs that wait for somebody to decide about them. */
export class WaitingDryRuns {
  readonly #waiting = new Map<string, Map<string, DryRun>>();
  readonly #committing = new Set<DryRun>();

  /** The oldest of its sandbox is forgotten where there are too many. */
  async add(sandbox: LiveSandbox, dryRun: DryRun): Promise<void> {
    const waiting = this.#of(sandbox).set(dryRun.id, dryRun);
    for (const [oldest, forgotten] of waiting) {
      if (waiting.size <= KEPT) break;
      // Somebody is asked about it just now, and may say no at first.
      if (this.#committing.has(forgotten)) continue;
      waiting.delete(oldest);
      await forgotten.discard();
    }
  }

  has(sandbox: string, id: string): boolean {
    return this.#waiting.get(sandbox)?.has(id) === true;
  }

  /** Resolves to its hash. Throws what its `commit` throws; one that was committed is known no more. */
  async commit(sandbox: string, id: string): Promise<string> {
    const dryRun = this.#find(sandbox, id);
    this.#committing.add(dryRun);
    try {
      await dryRun.commit();
    } finally {
      this.#committing.delete(dryRun);
    }
    this.#waiting.get(sandbox)?.delete(id);
    return dryRun.hash;
  }

  async discard(sandbox: string, id: string): Promise<void> {
    const dryRun = this.#find(sandbox, id);
    this.#waiting.get(sandbox)?.delete(id);
    await dryRun.discard();
  }

  /** Once their sandbox is gone there is nothing that they could be applied to. */
  #of({ id, whenEnded }: LiveSandbox): Map<string, DryRun> {
    const known = this.#waiting.get(id);
    if (known !== undefined) return known;
    const waiting = new Map<string, DryRun>();
    this.#waiting.set(id, waiting);
    void whenEnded.then(() => this.#waiting.delete(id));
    return waiting;
  }

  #find(sandbox: string, id: string): DryRun {
    const found = this.#waiting.get(sandbox)?.get(id);
    if (found !== undefined) return found;
    throw new SandboxError('INPUT_INVALID', `No dry run ${JSON.stringify(id.slice(0, 100))} waits there.`, {
      hint: `It may have been committed or discarded; the last ${KEPT} of a sandbox are kept. Make it again.`,
    });
  }
}
