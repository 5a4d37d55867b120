import type {
  ConsoleChange,
  ConsoleExecution,
  OutputOptions,
  OutputPiece,
  ShownExecution,
} from '../../../src/console/backend.ts';
import { isSandboxError } from '../../../src/errors.ts';
import type { CellOptions } from '../../../src/operations/contexts.ts';
import type { RichResult } from '../../../src/result/contextExecution.ts';
import type { ExecutionResult } from '../../../src/result/result.ts';

/** What an execution is run with, so that it is told of. */
export type Told = Required<Pick<CellOptions, 'onOutput' | 'onResult'>>;

interface Entry {
  execution: ShownExecution;
  readonly richResults: RichResult[];
  readonly pieces: OutputPiece[];
}

/** What is known of executions: their state, and their output in the order in which it came. */
export class ExecutionJournal {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  readonly #onChange: (change: ConsoleChange) => void;
  #count = 0;

  constructor(onChange: (change: ConsoleChange) => void) {
    this.#onChange = onChange;
  }

  /** Runs something under an id of its own, which it returns at once. */
  run(
    about: Pick<ConsoleExecution, 'keyName' | 'sandboxId' | 'language'>,
    start: (told: Told) => Promise<ExecutionResult>,
  ): { readonly id: string; readonly done: Promise<void> } {
    const id = `execution-${++this.#count}`;
    const richResults: RichResult[] = [];
    const startedAt = new Date().toISOString();
    const entry: Entry = {
      execution: { ...about, id, startedAt, endedAt: null, state: 'running', richResults },
      ...{ richResults, pieces: [] },
    };
    this.#entries.set(id, entry);
    this.#ring('executions');
    const done = start({
      onOutput: ({ stream, text }) => {
        if (text === '') return;
        entry.pieces.push({ type: 'output', stream, text, next: entry.pieces.length + 1 });
        this.#ring();
      },
      onResult: (result) => {
        richResults.push(result);
        this.#ring('executions');
      },
    }).then(
      (result) => this.#end(entry, { state: 'ended', result }),
      (error: unknown) => {
        if (!isSandboxError(error)) throw error;
        const { code, message, hint } = error;
        this.#end(entry, { state: 'failed', error: { code, message, hint } });
      },
    );
    return { id, done };
  }

  /** The newest first. */
  list(): readonly ConsoleExecution[] {
    return [...this.#entries.values()].map(({ execution }) => execution).reverse();
  }

  get(id: string): ShownExecution | undefined {
    return this.#entries.get(id)?.execution;
  }

  async *output(id: string, { after, follow, signal }: OutputOptions): AsyncGenerator<OutputPiece> {
    const entry = this.#entries.get(id);
    for (let next = after; entry !== undefined && !signal?.aborted; ) {
      const piece = entry.pieces[next];
      if (piece !== undefined) {
        next++;
        yield piece;
      } else if (!follow || entry.execution.state !== 'running') return;
      else await this.#rung(signal);
    }
  }

  #end(entry: Entry, end: Partial<ConsoleExecution>): void {
    entry.execution = { ...entry.execution, ...end, endedAt: new Date().toISOString() };
    this.#ring('executions');
  }

  #ring(change?: ConsoleChange): void {
    for (const listener of this.#listeners) listener();
    if (change !== undefined) this.#onChange(change);
  }

  #rung(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#listeners.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#listeners.add(done);
      signal?.addEventListener('abort', done);
    });
  }
}
