/** Trying something out in a copy of the workspace, and making what came of it count. */
import { SandboxError } from '../errors.ts';
import type { ExecutionResult } from '../result/result.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { applyDifference } from '../sandbox/trees/applyDifference.ts';
import { copyTree, readTree } from '../sandbox/trees/readTree.ts';
import { Spool } from '../sandbox/trees/spool.ts';
import { isSame } from '../sandbox/trees/tree.ts';
import type { Context } from './context.ts';
import { type Effects, effectsHash, effectsOf, effectsText, MAX_DIFF_BYTES, type Trial } from './effects.ts';
import { executeIn, type Opened, type RunIn } from './execute.ts';
import type { Job } from './job.ts';
import type { LiveRunOptions } from './options.ts';
import type { Seen } from './oversight/oversight.ts';
import { decisionsTo, type Operate } from './oversight/sandboxes.ts';

/** What came of a program that ran in a copy of the workspace. Whoever neither commits nor discards it keeps its bytes until the sandbox ends. */
export interface DryRun extends AsyncDisposable {
  /** That of the execution. */
  readonly id: string;
  readonly result: ExecutionResult;
  readonly effects: Effects;
  /** SHA-256 of every path that is different, with what it was and what it is. */
  readonly hash: string;
  /**
   * Makes the workspace what the copy became: exactly these bytes; the program does not run again. Throws
   * `WORKSPACE_CHANGED` when the workspace is not what the dry run began with, and changes nothing then; `APPROVAL_DENIED`
   * where a gate asks and the answer is no; `INPUT_INVALID` when it was committed or discarded, or cannot be.
   */
  commit(): Promise<void>;
  /** Forgets it. Safe to call twice. */
  discard(): Promise<void>;
}

/** So many files and folders may a workspace have that is copied. */
const MAX_ENTRIES = 100_000;

export async function dryRun(
  context: Context,
  opened: Opened,
  job: Job,
  options: LiveRunOptions,
  operate: Operate,
): Promise<DryRun> {
  const { sandbox } = opened;
  const limits = { maxBytes: sandbox.policy.limits.diskMb.value * 1024 ** 2, maxEntries: MAX_ENTRIES };
  const { signal } = options;
  const beforeSpool = await Spool.open();
  const afterSpool = await Spool.open();
  let trial: Trial | undefined;
  const runIn: RunIn = async (program, resultOf) => {
    const about = () => ({ id: program.executionId, sandbox_id: sandbox.id });
    const copy = await opened.like(decisionsTo(context, about, {}), signal);
    try {
      const keepsShort = { spool: beforeSpool, wants: isShort };
      const before = await sandbox.exclusively(
        (from) => copy.use((to) => copyTree(from, to, { limits, signal, keeping: keepsShort })),
        signal,
      );
      assertWhole(before);
      const result = resultOf(copy, await copy.run(program));
      const isKnown = (entry: Parameters<typeof isSame>[0]): boolean => {
        const earlier = before.entries.get(entry.path);
        return earlier !== undefined && isSame(earlier, entry);
      };
      const after = await copy.use((guest) =>
        readTree(guest, { limits, keeping: { spool: afterSpool, wants: () => true, drops: isKnown } }),
      );
      trial = { before, after, beforeSpool, afterSpool };
      return result;
    } finally {
      await copy.close();
    }
  };
  try {
    const result = await executeIn(context, opened, job, options, { runIn, isDry: true });
    const effects = trial === undefined ? NOTHING : await effectsOf(trial, result);
    const made = new Made(sandbox, { result, effects, trial, limits, operate, afterSpool });
    await context.oversight?.record({
      ...{ type: 'effects', id: made.id, sandbox_id: sandbox.id, sha256: made.hash },
      ...countsOf(effects),
    });
    return made;
  } catch (error) {
    await afterSpool.close();
    throw error;
  } finally {
    await beforeSpool.close();
  }
}

const NOTHING: Effects = {
  ...{ files: [], hosts: [], processes: null, notCopied: [], notCarried: [] },
  notCommittable: 'The program did not run.',
};

interface Parts extends Pick<DryRun, 'result' | 'effects'> {
  /** Absent where nothing ran. */
  readonly trial: Trial | undefined;
  readonly limits: { readonly maxBytes: number; readonly maxEntries: number };
  readonly operate: Operate;
  readonly afterSpool: Spool;
}

class Made implements DryRun {
  readonly id: string;
  readonly result: ExecutionResult;
  readonly effects: Effects;
  readonly hash: string;
  readonly #sandbox: Sandbox;
  readonly #parts: Parts;
  #state: 'open' | 'being committed' | 'committed' | 'discarded' = 'open';

  constructor(sandbox: Sandbox, parts: Parts) {
    this.id = parts.result.meta.executionId;
    this.result = parts.result;
    this.effects = parts.effects;
    this.hash = effectsHash(parts.effects);
    this.#sandbox = sandbox;
    this.#parts = parts;
    void sandbox.whenEnded.then(() => this.discard());
  }

  async commit(): Promise<void> {
    const { operate, effects } = this.#parts;
    this.#sandbox.assertOpen();
    this.#assertOpen();
    this.#state = 'being committed';
    try {
      const text = Buffer.from(effectsText(effects));
      const parameters = {
        ...{ dry_run: this.id, effects_sha256: this.hash },
        executable: effects.files.some(({ after }) => after?.executable === true),
        ...countsOf(effects),
      };
      await operate(
        'commit_dry_run',
        () => ({ parameters, content: { bytes: text }, look: () => this.#look() }),
        () => this.#apply(),
      );
    } catch (error) {
      this.#state = 'open';
      throw error;
    }
    this.#state = 'committed';
    await this.#parts.afterSpool.close();
  }

  async discard(): Promise<void> {
    // What is being written is still needed, and is over soon.
    if (this.#state === 'being committed') return;
    if (this.#state === 'open') this.#state = 'discarded';
    await this.#parts.afterSpool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  async #apply(): Promise<void> {
    const { trial, limits } = this.#parts;
    if (trial === undefined) return;
    const wanted = { before: trial.before, after: trial.after, spool: trial.afterSpool };
    await this.#sandbox.exclusively((guest) => applyDifference(guest, wanted, limits));
  }

  /** What the code that it wrote seems to do; of long files nothing. */
  async #look(): Promise<Seen> {
    const { lookAtFiles } = await import('./oversight/look.ts');
    const { effects, trial } = this.#parts;
    async function* written() {
      for (const { path, after } of effects.files) {
        const kept = after === undefined ? undefined : trial?.after.entries.get(path)?.kept;
        if (trial === undefined || kept === undefined || !isShort(kept)) continue;
        yield { path, content: await trial.afterSpool.bytes(kept) };
      }
    }
    return lookAtFiles(written());
  }

  #assertOpen(): void {
    const { notCommittable } = this.effects;
    const because =
      this.#state !== 'open'
        ? `The dry run has been ${this.#state === 'being committed' ? 'committed just now' : this.#state}.`
        : notCommittable;
    if (because === undefined) return;
    throw new SandboxError('INPUT_INVALID', because, {
      hint: 'Make the dry run again, or run the code itself.',
      details: { dryRun: this.id, state: this.#state },
    });
  }
}

function countsOf({ files, hosts }: Effects): Readonly<Record<string, number>> {
  const count = (kind: Effects['files'][number]['kind']): number =>
    files.filter((file) => file.kind === kind).length;
  return {
    ...{ added: count('added'), changed: count('changed'), removed: count('removed') },
    hosts: hosts.length,
  };
}

function isShort({ size }: { readonly size: number }): boolean {
  return size <= MAX_DIFF_BYTES;
}

/** What may not be read is not in the copy, and nobody knows what it is. */
function assertWhole({ leftOut }: Trial['before']): void {
  const unread = leftOut.find(({ path }) => path === '.');
  if (unread === undefined) return;
  throw new SandboxError('INPUT_INVALID', `No whole copy of the workspace can be made: ${unread.because}`, {
    hint: 'Make its files readable (chmod -R u+rX), or run the code itself.',
  });
}
