import type { Denied } from '../../gate/approval/decision.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ExecutionResult } from '../../result/result.ts';
import type { Program } from '../../sandbox/program.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Context } from '../context.ts';
import type { Checked } from '../inspection.ts';
import type { Prepared } from '../job.ts';
import { storeResult } from '../storeResult.ts';
import type { OutputDigests } from './outputDigests.ts';
import type { Oversight, Passage } from './oversight.ts';

/** The way of one execution: recorded where that is asked for, and its artifact stored. */
export class ExecutionPassage {
  readonly #context: Context;
  readonly #prepared: Prepared;
  readonly #watched: Watched | undefined;
  #blocked: string | undefined;

  private constructor(context: Context, prepared: Prepared, watched: Watched | undefined) {
    this.#context = context;
    this.#prepared = prepared;
    this.#watched = watched;
  }

  /** `stdin` is what it reads, where that is not told by what was prepared. */
  static async open(
    context: Context,
    prepared: Prepared,
    sandbox: Pick<Sandbox, 'id'> | null,
    stdin: unknown = prepared.program.stdin,
  ): Promise<ExecutionPassage> {
    const watched = context.oversight && (await watch(context.oversight, prepared, sandbox, stdin));
    return new ExecutionPassage(context, prepared, watched);
  }

  /** What is to be run. */
  get program(): Program {
    const { program } = this.#prepared;
    if (this.#watched === undefined) return program;
    return { ...program, onOutput: this.#watched.output.listener(program.onOutput) };
  }

  /** What the check of imports says; what the code seems to do is looked at where somebody is asked. */
  async inspected({ findings, blocked, message, notChecked }: Checked): Promise<void> {
    if (this.#watched === undefined) return;
    const { passage, stdin, lookAtProgram } = this.#watched;
    passage.found(findings);
    if (blocked) this.#blocked = message || notChecked || 'It was not looked at.';
    else if (this.#context.oversight?.gate !== undefined)
      passage.saw(await lookAtProgram(this.#prepared.program, stdin));
  }

  /** Resolves once it may begin, or to why it must not. Rejects with `AUDIT_UNAVAILABLE`. */
  async admit(runtime: string, policy: Policy): Promise<Denied | undefined> {
    return this.#watched?.passage.admit({ runtime, policy: this.#watched.describePolicy(policy) });
  }

  /** Hands on what comes of it once that is recorded; what is thrown is recorded as well. */
  async over<Result extends ExecutionResult>(action: () => Promise<Result>): Promise<Result> {
    const result = await this.failing(async () => {
      const made = await action();
      return { ...made, ...(await storeResult(this.#context, this.#prepared, made)) };
    });
    const place = await this.#end(result);
    return place === undefined ? result : { ...result, meta: { ...result.meta, ...place } };
  }

  /** Records what the action rejects with, and throws it. */
  async failing<T>(action: () => Promise<T>): Promise<T> {
    if (this.#watched === undefined) return action();
    const { passage } = this.#watched;
    return passage.failing(action, () =>
      this.#blocked === undefined ? undefined : passage.block(this.#blocked),
    );
  }

  async #end(
    result: ExecutionResult,
  ): Promise<Pick<ExecutionResult['meta'], 'record' | 'warnings'> | undefined> {
    if (this.#watched === undefined) return undefined;
    const { passage, output, describeResult } = this.#watched;
    const place =
      this.#blocked === undefined
        ? await passage.end(describeResult(result, output))
        : await passage.block(this.#blocked);
    const notes = this.#context.oversight?.takeNotes() ?? [];
    return {
      ...(place === undefined ? {} : { record: place }),
      ...(notes.length === 0 ? {} : { warnings: [...(result.meta.warnings ?? []), ...notes] }),
    };
  }
}

interface Watched {
  readonly passage: Passage;
  readonly output: OutputDigests;
  readonly describePolicy: (policy: Policy) => Readonly<Record<string, unknown>>;
  readonly describeResult: typeof import('./describe.ts').describeResult;
  readonly stdin: unknown;
  readonly lookAtProgram: typeof import('./look.ts').lookAtProgram;
}

async function watch(
  oversight: Oversight,
  prepared: Prepared,
  sandbox: Pick<Sandbox, 'id'> | null,
  stdin: unknown,
): Promise<Watched> {
  // Most runs are not recorded, and a short-lived command should not load what would.
  const { describePolicy, describeResult, describeRun } = await import('./describe.ts');
  const { OutputDigests } = await import('./outputDigests.ts');
  const { lookAtProgram } = await import('./look.ts');
  const passage = oversight.request(describeRun(prepared, sandbox, stdin));
  const output = new OutputDigests();
  return { passage, output, describePolicy, describeResult, stdin, lookAtProgram };
}
