/** All that the console asks of the server that it belongs to; operations are behind it, and no others. */
import type { Answer, Grant, Question } from '../operations/approvals.ts';
import type { LoggedRecord, RecordFilter, Statement, Verdict } from '../operations/auditTrail.ts';
import type { SandboxInfo } from '../operations/sandboxManager.ts';
import type { RichResult } from '../result/contextExecution.ts';
import type { ExecutionResult } from '../result/result.ts';

/** What a key may be used for here: to answer and to look on, or to read the record. */
export type ConsoleScope = 'approve' | 'audit';

/** A key of the server, without its secret. */
export interface ConsoleKey {
  readonly id: string;
  /** As people call it. */
  readonly name: string;
  readonly scopes: readonly string[];
}

/** A question, and the key for whose caller it is asked; null where it comes from elsewhere on this host. */
export interface WaitingQuestion {
  readonly question: Question;
  readonly askedBy: Pick<ConsoleKey, 'id' | 'name'> | null;
}

/** A live sandbox of any key. */
export interface ConsoleSandbox extends SandboxInfo {
  readonly keyName: string;
}

/** An execution of any key, as far as it has come. */
export interface ConsoleExecution {
  readonly id: string;
  readonly keyName: string;
  /** Null for one in a sandbox of its own. */
  readonly sandboxId: string | null;
  readonly language: string | null;
  /** `failed`: it could not be done, as `error` says; a program that fails has ended. */
  readonly state: 'waiting' | 'running' | 'ended' | 'failed';
  /** ISO 8601; null as long as it waits for its turn. */
  readonly startedAt: string | null;
  /** ISO 8601; null before the end. */
  readonly endedAt: string | null;
  readonly result?: ExecutionResult;
  readonly error?: { readonly code: string; readonly message: string; readonly hint: string };
}

/** An execution with what it gave back or showed so far, where it runs in a context; that may be megabytes. */
export interface ShownExecution extends ConsoleExecution {
  readonly richResults: readonly RichResult[];
}

/** A piece of an execution's output. Whoever asks for what comes after `next` misses nothing and reads nothing twice. */
export type OutputPiece =
  | {
      readonly type: 'output';
      readonly stream: 'stdout' | 'stderr';
      /** A character is never split over two pieces. */
      readonly text: string;
      readonly next: number;
    }
  /** What is not kept any more. */
  | {
      readonly type: 'gap';
      readonly stream: 'stdout' | 'stderr';
      readonly droppedBytes: number;
      readonly next: number;
    };

export interface OutputOptions {
  /** `next` of the last piece that was read; 0 from the beginning. */
  readonly after: number;
  /** Waits for more until the execution has ended; without it, what is there now. */
  readonly follow: boolean;
  readonly signal?: AbortSignal;
}

/** What has changed, without saying how. */
export type ConsoleChange = 'questions' | 'sandboxes' | 'executions' | 'grants';

export interface ConsoleBackend {
  /** The key of a secret that a person has typed; undefined for one that is unknown, revoked or expired. */
  authenticate(secret: string): Promise<ConsoleKey | undefined>;
  /** The key as it is now; undefined once it is revoked or expired: whoever is signed in with it is so no longer. */
  key(id: string): Promise<ConsoleKey | undefined>;

  /** The oldest first. */
  questions(): Promise<readonly WaitingQuestion[]>;
  /** Rejects with `APPROVAL_EXPIRED` where nothing of this id waits, and `INPUT_INVALID` for what is no id. */
  question(id: string): Promise<WaitingQuestion>;
  /**
   * Answers the question whose hash the person has seen. Rejects with `APPROVAL_EXPIRED` where it is gone or about
   * something else, and `FORBIDDEN` where this key has asked it.
   */
  answer(id: string, hash: string, answer: Answer, by: ConsoleKey): Promise<void>;
  grants(): Promise<readonly Grant[]>;
  /** Rejects with `INPUT_INVALID` where there is none of this id. */
  revoke(id: string, by: ConsoleKey): Promise<void>;

  /** Those that live, of all keys. */
  sandboxes(): Promise<readonly ConsoleSandbox[]>;
  /** Those that run and, as long as they are kept, those that have ended; the newest first. */
  executions(): Promise<readonly ConsoleExecution[]>;
  execution(id: string): Promise<ShownExecution | undefined>;
  /**
   * Ends where there is nothing more to tell, or with the signal; nothing of an execution that is not kept. Rejects with
   * `INPUT_INVALID` for a place that is none.
   */
  output(id: string, options: OutputOptions): AsyncIterable<OutputPiece>;

  /** Records of the audit in their order. */
  records(filter: RecordFilter): AsyncIterable<LoggedRecord>;
  verify(): Promise<Verdict>;
  /** Rejects with `INPUT_INVALID` for an id without records, and `AUDIT_UNAVAILABLE` where the log is not whole. */
  receipt(id: string): Promise<Statement>;

  /** Tells of changes until the function that it returns is called. */
  watch(onChange: (change: ConsoleChange) => void): () => void;
}
