import { isSandboxError, SandboxError } from '../../errors.ts';
import { isStartable } from '../../gate/rules.ts';
import { languageOfFile } from '../../languages/index.ts';
import type { TransferLimits } from '../../runtimes/runtime.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { applyDifference } from '../../sandbox/trees/applyDifference.ts';
import type { Seen } from '../oversight/oversight.ts';
import type { Operate } from '../oversight/sandboxes.ts';
import type { DryRun } from './dryRun.ts';
import { countsOf, type Effects, effectsHash, isShort, type Trial } from './effects.ts';
import { effectsText } from './effectsText.ts';

export interface Parts extends Pick<DryRun, 'result' | 'effects'> {
  /** Absent where nothing is known. */
  readonly trial: Trial | undefined;
  readonly limits: TransferLimits;
  readonly operate: Operate;
}

/** So much of the code that was written is looked at before somebody is asked about it. */
const MAX_LOOKED_AT_BYTES = 2 * 1024 ** 2;

/** A dry run that was made, until somebody has decided about it. */
export class Made implements DryRun {
  readonly id: string;
  readonly result: DryRun['result'];
  readonly effects: Effects;
  readonly hash: string;
  readonly #sandbox: Sandbox;
  readonly #parameters: Readonly<Record<string, unknown>>;
  readonly #text: Uint8Array;
  /** Gone once it is decided. */
  #parts: Parts | undefined;
  /** Somebody wants it no more. */
  #isUnwanted = false;
  #state: 'open' | 'being committed' | 'committed' | 'discarded' = 'open';

  constructor(sandbox: Sandbox, parts: Parts) {
    const { result, effects, trial } = parts;
    this.id = result.meta.executionId;
    this.result = result;
    this.effects = effects;
    this.hash = effectsHash(effects);
    this.#sandbox = sandbox;
    this.#parts = parts;
    // What is shown and what is recorded is what was seen, whatever a caller does with the effects.
    this.#text = Buffer.from(effectsText(effects));
    this.#parameters = {
      ...{ dry_run: this.id, effects_sha256: this.hash },
      executable: effects.files.some(
        ({ path, after }) => after?.type === 'file' && (after.executable === true || isStartable(path)),
      ),
      ...countsOf(effects),
    };
    void sandbox.whenEnded.then(() => trial?.afterSpool.close());
  }

  async commit(): Promise<void> {
    this.#sandbox.assertOpen();
    const { operate, trial, limits } = this.#assertOpen();
    this.#state = 'being committed';
    const wish = () => ({
      ...{ parameters: this.#parameters, content: { bytes: this.#text } },
      look: () => lookAt(trial),
    });
    let isOver = false;
    try {
      await operate('commit_dry_run', wish, async () => {
        await this.#sandbox.exclusively((guest) => {
          this.#assertWanted();
          return applyDifference(guest, { ...trial, spool: trial.afterSpool }, limits);
        });
        isOver = true;
      });
    } catch (error) {
      if (isSandboxError(error) && error.details['applied'] === true) isOver = true;
      throw error;
    } finally {
      this.#state = isOver ? 'committed' : 'open';
      if (isOver || this.#isUnwanted) await this.discard();
    }
  }

  async discard(): Promise<void> {
    this.#isUnwanted = true;
    // What is being written is still needed; what is still asked about is not done.
    if (this.#state === 'being committed') return;
    if (this.#state === 'open') this.#state = 'discarded';
    const { trial } = this.#parts ?? {};
    this.#parts = undefined;
    await trial?.afterSpool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  #assertWanted(): void {
    if (this.#isUnwanted) throw this.#notOpen('The dry run was discarded while somebody was asked about it.');
  }

  #assertOpen(): Parts & { readonly trial: Trial } {
    if (this.#state !== 'open' || this.#parts === undefined) {
      const isGoing = this.#state === 'being committed';
      throw this.#notOpen(`The dry run ${isGoing ? 'is being committed' : `has been ${this.#state}`}.`);
    }
    const { trial } = this.#parts;
    const { notCommittable } = this.effects;
    if (trial === undefined || notCommittable !== undefined) {
      throw this.#notOpen(notCommittable ?? 'Nothing is known of it.');
    }
    return { ...this.#parts, trial };
  }

  #notOpen(because: string): SandboxError {
    return new SandboxError('INPUT_INVALID', because, {
      hint: 'Make the dry run again, or run the code itself.',
      details: { dryRun: this.id, state: this.#state },
    });
  }
}

/** What the code that it wrote seems to do. */
async function lookAt({ before, after, afterSpool }: Trial): Promise<Seen> {
  const { lookAtFiles } = await import('../oversight/look.ts');
  let room = MAX_LOOKED_AT_BYTES;
  const tooLong: string[] = [];
  async function* written() {
    for (const { path, kept, sha256 } of after.entries.values()) {
      const isNew = kept !== undefined && sha256 !== before.entries.get(path)?.sha256;
      if (!isNew || languageOfFile(path) === undefined) continue;
      if (!isShort(kept) || kept.size > room) {
        tooLong.push(path);
        continue;
      }
      room -= kept.size;
      yield { path, content: await afterSpool.bytes(kept) };
    }
  }
  const seen = await lookAtFiles(written());
  if (tooLong.length === 0) return seen;
  const notInspected = `${tooLong.length} files of code are too long, or too many, to be looked at, such as ${tooLong[0]}.`;
  return { ...seen, notInspected: [seen.notInspected, notInspected].filter(Boolean).join(' ') };
}
