import type { z } from 'zod';
import { isSandboxError, type SandboxError } from '../errors.ts';
import { closedError, type EndReason, type SandboxEnd } from '../sandbox/ended.ts';
import { type Followed, runOn, type Start } from './execution.ts';
import { sandboxPath } from './paths.ts';
import type { Question, Transport } from './transport.ts';

/** One sandbox of a server, to be asked for what is in it. */
export interface Place {
  readonly id: string;
  readonly transport: Transport;
  json<Answer>(question: Question, schema: z.ZodType<Answer>): Promise<Answer>;
  tell(question: Question): Promise<void>;
  bytes(question: Question): Promise<Uint8Array>;
  open(question: Question, control: AbortController): Promise<Response>;
  run<Result>(start: Start<Result>): Promise<Followed<Result>>;
  /** Does what asks about the sandbox by another address than its own. */
  guarded<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Paths are below that of the sandbox. `guarded` sees each question before it is asked, and what comes of it. */
export function placeOf(
  transport: Transport,
  id: string,
  guarded: Place['guarded'] = (work) => work(),
): Place {
  const inside = <Asked extends { readonly path: string }>(asked: Asked): Asked => ({
    ...asked,
    path: `${sandboxPath(id)}${asked.path === '' ? '' : `/${asked.path}`}`,
  });
  return {
    id,
    transport,
    json: (question, schema) => guarded(async () => transport.json(inside(question), schema)),
    tell: (question) => guarded(async () => transport.tell(inside(question))),
    bytes: (question) => guarded(async () => transport.bytes(inside(question))),
    open: (question, control) => guarded(async () => transport.open(inside(question), control)),
    run: (start) => guarded(async () => runOn(transport, inside(start))),
    guarded,
  };
}

/** What is known of a sandbox's end, by what was done here and what the server said. */
export class KnownEnd {
  readonly #id: string;
  readonly #listeners = new Set<() => void>();
  #end: SandboxEnd | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  get end(): SandboxEnd | undefined {
    return this.#end;
  }

  /** Calls this once, at its end, which may have been. */
  whenKnown(listener: () => void): void {
    if (this.#end === undefined) this.#listeners.add(listener);
    else listener();
  }

  know(end: SandboxEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Asks nothing of a sandbox that is known to have ended, and learns from the answers of one that has. */
  guarded = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (this.#end !== undefined) throw closedError(this.#id, this.#end);
    try {
      return await work();
    } catch (error) {
      const end = isSandboxError(error) ? this.#endOf(error) : undefined;
      if (end === undefined) throw error;
      this.know(end);
      throw closedError(this.#id, end, error);
    }
  };

  #endOf({ code, message, details }: SandboxError): SandboxEnd | undefined {
    const now = new Date().toISOString();
    // There was one: whoever has a handle has got it from the server.
    if (code === 'SANDBOX_NOT_FOUND') return { reason: 'closed', at: now, message: 'It was closed.' };
    const { reason, at } = details;
    if (code !== 'SANDBOX_CLOSED' || !isEndReason(reason) || details['sandboxId'] !== this.#id)
      return undefined;
    const told = message.startsWith(HAS_ENDED(this.#id))
      ? message.slice(HAS_ENDED(this.#id).length)
      : message;
    return { reason, at: typeof at === 'string' ? at : now, message: told };
  }
}

const HAS_ENDED = (id: string): string => `The sandbox ${id} has ended. `;

const REASONS: readonly unknown[] = ['closed', 'expired', 'idle', 'crashed', 'manager_closed'];

function isEndReason(reason: unknown): reason is EndReason {
  return REASONS.includes(reason);
}
