import { isSandboxError, SandboxError } from '../../errors.ts';
import type { ExecutionResult } from '../../result/result.ts';
import type { TransferLimits } from '../../runtimes/runtime.ts';
import { notStarted } from '../../sandbox/run.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { copyTree, readTree } from '../../sandbox/trees/readTree.ts';
import { Spool } from '../../sandbox/trees/spool.ts';
import { isSame, type Tree, type TreeEntry } from '../../sandbox/trees/tree.ts';
import type { Opened, RunIn } from '../execute.ts';
import { isShort, type Trial } from './effects.ts';

/** So many files and folders may a workspace have that is copied. */
const MAX_ENTRIES = 100_000;

/** One program in a copy of the workspace. */
export class Trying {
  readonly limits: TransferLimits;
  /** What it began with and ended with, or why that is not known. */
  trial: Trial | { readonly because: string } = { because: 'The program did not run.' };
  readonly #opened: Opened;
  readonly #beforeSpool: Spool;

  constructor(opened: Opened, beforeSpool: Spool) {
    this.limits = {
      maxBytes: opened.sandbox.policy.limits.diskMb.value * 1024 ** 2,
      maxEntries: MAX_ENTRIES,
    };
    this.#opened = opened;
    this.#beforeSpool = beforeSpool;
  }

  async run(program: Parameters<RunIn>[0], resultOf: Parameters<RunIn>[1]): Promise<ExecutionResult> {
    const { sandbox } = this.#opened;
    const { signal } = program;
    let copy: Sandbox | undefined;
    let before: Tree;
    try {
      signal?.throwIfAborted();
      copy = await this.#opened.like(program);
      sandbox.adopt(copy);
      before = await this.#copyInto(copy, signal);
    } catch (error) {
      await copy?.close();
      if (signal?.aborted) return resultOf(sandbox, notStarted());
      throw error;
    }
    try {
      const result = resultOf(copy, await copy.run(program));
      this.trial = await this.#look(copy, before);
      return result;
    } finally {
      await copy.close();
    }
  }

  async #copyInto(copy: Sandbox, signal: AbortSignal | undefined): Promise<Tree> {
    const keeping = { spool: this.#beforeSpool, wants: isShort };
    const reading = { limits: this.limits, signal, keeping };
    try {
      const before = await this.#opened.sandbox.exclusively(
        (from) => copy.use((to) => copyTree(from, to, reading)),
        signal,
      );
      assertWhole(before);
      return before;
    } catch (error) {
      throw isSandboxError(error) && error.code === 'INPUT_INVALID' ? notCopied(error) : error;
    }
  }

  /** Keeps the content of what is new or different. The program has run: what cannot be told of it is no reason to lose its result. */
  async #look(copy: Sandbox, before: Tree): Promise<Trying['trial']> {
    const drops = (entry: TreeEntry): boolean => {
      const earlier = before.entries.get(entry.path);
      return earlier !== undefined && isSame(earlier, entry);
    };
    const spool = await Spool.open();
    try {
      const keeping = { spool, wants: () => true, drops };
      const after = await copy.use((guest) => readTree(guest, { limits: this.limits, keeping }));
      await spool.fit();
      return { before, after, beforeSpool: this.#beforeSpool, afterSpool: spool };
    } catch (error) {
      await spool.close();
      if (!isSandboxError(error)) throw error;
      return { because: `What the program did is not known. ${error.message}` };
    }
  }
}

/** What may not be read is not in the copy, and nobody knows what it is. */
function assertWhole({ leftOut }: Tree): void {
  const unread = leftOut.find(({ path }) => path === '.');
  if (unread === undefined) return;
  throw new SandboxError('INPUT_INVALID', unread.because, { hint: 'None.' });
}

function notCopied(cause: SandboxError): SandboxError {
  return new SandboxError('INPUT_INVALID', `The workspace cannot be copied: ${cause.message}`, {
    hint: 'Remove what is not needed, make files readable (chmod -R u+rX), stop what writes to them, or run the code itself.',
    details: cause.details,
    cause,
  });
}
